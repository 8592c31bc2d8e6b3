import type { Environment } from './child.ts'
import { defaultKafkaVersion } from './kafka-install.ts'
import { runTool, type ToolResult } from './run-tool.ts'

export type ServiceName = 'kafka' | 'mongodb'

type Context = { readonly say: (sentence: string) => void; readonly signal: AbortSignal }

export function imagesOf({ KAFKA_IMAGE, KAFKA_VERSION, MONGODB_IMAGE }: Environment): Record<ServiceName, string> {
  return {
    kafka: KAFKA_IMAGE || `apache/kafka:${KAFKA_VERSION || defaultKafkaVersion}`,
    mongodb: MONGODB_IMAGE || 'mongo:6.0',
  }
}

export async function engineAnswers(signal: AbortSignal): Promise<boolean> {
  const { code } = await runTool({ command: 'docker', args: ['version'], signal, timeoutMs: 5_000 })
  return code === 0
}

/** Pulls the missing images. False when a pull fails or prints nothing for 15 s. */
export async function hasImages(images: readonly string[], { say, signal }: Context): Promise<boolean> {
  for (const image of images) {
    const present = await docker(['image', 'inspect', image], signal)
    if (present.code === 0) continue
    say(`Docker is pulling ${image}. This can take some minutes …`)
    const pulled = await runTool({ command: 'docker', args: ['pull', image], signal, firstOutputWithinMs: 15_000 })
    if (pulled.code === 0) continue
    say(`${image} cannot be pulled.`)
    return false
  }
  return true
}

/**
 * Runs a docker command in its own process group, because Ctrl-C must not interrupt a command that stops containers.
 * Ctrl-C can still end the new process before its group is set; the command is then repeated.
 */
export async function docker(args: readonly string[], signal: AbortSignal, env: Environment = {}): Promise<ToolResult> {
  for (;;) {
    const result = await runTool({ command: 'docker', args, signal, env, timeoutMs: 120_000, ownGroup: true })
    if (result.signal !== 'SIGINT') return result
  }
}
