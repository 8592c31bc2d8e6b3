import { runTool, type ToolResult } from './download.ts'
import type { ServiceName } from './provider.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** A registry that cannot be reached is given up after this long without a word from it. */
const firstWordWithinMs = 15_000
/** Without a terminal docker writes only when a layer is complete, which takes as long as the layer is large. */
const layerWithinMs = 600_000
const progressEveryMs = 10_000

/** The images of the backing services; KAFKA_IMAGE and MONGODB_IMAGE name others, for example of a private registry. */
export function imagesOf(environment: Environment): Record<ServiceName, string> {
  return {
    kafka: environment.KAFKA_IMAGE || `apache/kafka:${environment.KAFKA_VERSION || '4.3.0'}`,
    mongodb: environment.MONGODB_IMAGE || 'mongo:6.0',
  }
}

/** Whether a Docker engine answers here. */
export async function engineAnswers(signal: AbortSignal): Promise<boolean> {
  const args = ['version', '--format', '{{.Server.Version}}']
  const { exitCode } = await runTool({ command: 'docker', args, signal, quietLimitMs: 5_000 })
  return exitCode === 0
}

type Images = {
  readonly say: (sentence: string) => void
  readonly signal: AbortSignal
  /** What happens instead when one cannot be had, for the person who reads it. */
  readonly otherwise: string
}

/** Whether the engine has the images, after pulling those it lacks; false within seconds when no registry answers. */
export async function hasImages(images: readonly string[], { say, signal, otherwise }: Images): Promise<boolean> {
  for (const image of images) {
    const present = await docker(['image', 'inspect', '--format', '{{.Id}}', image], signal)
    if (present.exitCode === 0) continue
    say(`Pulling ${image} …`)
    if (await pull(image, { say, signal })) continue
    say(`${image} cannot be pulled; ${otherwise}.`)
    return false
  }
  return true
}

async function pull(image: string, { say, signal }: Omit<Images, 'otherwise'>): Promise<boolean> {
  const since = Date.now()
  const progress = setInterval(() => {
    say(`  ${image}: still pulling after ${Math.round((Date.now() - since) / 1_000)} s …`)
  }, progressEveryMs)
  try {
    const { exitCode } = await runTool({
      command: 'docker',
      args: ['pull', image],
      signal,
      firstWordWithinMs,
      quietLimitMs: layerWithinMs,
    })
    return exitCode === 0
  } finally {
    clearInterval(progress)
  }
}

/**
 * Runs a docker command out of reach of Ctrl-C: one that stops containers must not be stopped by it half-way. A Ctrl-C
 * that meets the new process before it has left the terminal's group ends it all the same; then it is run again.
 */
export async function docker(args: readonly string[], signal: AbortSignal, env: Environment = {}): Promise<ToolResult> {
  for (;;) {
    const result = await runTool({ command: 'docker', args, signal, env, quietLimitMs: 120_000, ownSession: true })
    if (result.endedBy !== 'SIGINT') return result
  }
}

/** Why a docker command failed: the last line it wrote. */
export function reasonOf({ found, output }: ToolResult): string {
  return found ? (output.trimEnd().split('\n').at(-1) ?? '') : 'docker is not installed'
}
