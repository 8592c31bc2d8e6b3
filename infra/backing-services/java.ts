import { join } from 'node:path'
import { runTool } from './download.ts'
import { StartFault } from './start-fault.ts'

const oldest = 17

/** The `java` to run Kafka with: JAVA_HOME's, else the one on PATH. */
export async function findJava(
  environment: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<string> {
  const home = environment.JAVA_HOME
  const java = home === undefined || home === '' ? 'java' : join(home, 'bin', 'java')
  const { found, output } = await runTool({ command: java, args: ['-version'], signal })
  const version = javaMajor(output)
  if (!found || version === undefined) {
    throw new StartFault(
      'java_missing',
      `Kafka needs Java ${oldest} or newer and none was found: install one, or start Docker, or set KAFKA_BROKERS to a broker you have.`,
    )
  }
  if (version < oldest) {
    throw new StartFault(
      'java_missing',
      `Kafka needs Java ${oldest} or newer and ${java} is version ${version}: put a newer one first on PATH or in JAVA_HOME.`,
    )
  }
  return java
}

/** The feature release in what `java -version` writes: 17 of "17.0.15", 8 of "1.8.0_392". */
export function javaMajor(output: string): number | undefined {
  const match = /version "(?:1\.)?(\d+)/.exec(output)
  return match?.[1] === undefined ? undefined : Number(match[1])
}
