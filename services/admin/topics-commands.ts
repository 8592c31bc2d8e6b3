import type { Command } from './tools.ts'
import { UsageFault } from './usage-fault.ts'

export const topicsCommands: readonly Command[] = [
  {
    usage: 'topics check',
    async run(args, tools) {
      takesNothing('topics check', args)
      const drift = await tools.checkTopics()
      if (drift.length === 0) return { value: { drift }, message: 'All topics are as the catalogue wants them.' }
      return { value: { drift }, message: `Topics differ from the catalogue. ${drift.join(' ')}`, ok: false }
    },
  },
  {
    usage: 'topics apply',
    async run(args, tools) {
      takesNothing('topics apply', args)
      const topics = await tools.applyTopics()
      return { value: { topics }, message: 'All topics are as the catalogue wants them.' }
    },
  },
]

/** Throws `UsageFault` when a command without arguments is given some. */
export function takesNothing(command: string, args: readonly string[]): void {
  if (args.length > 0) throw new UsageFault(`${command} takes no arguments.`)
}
