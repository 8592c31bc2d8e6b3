import { type Command, rejectArguments } from './command.ts'

const noDrift = 'All topics match the catalogue.'

export const setupCommands: readonly Command[] = [
  {
    usage: 'topics check',
    async run(args, context) {
      rejectArguments('topics check', args)
      const drift = await context.checkTopics()
      if (drift.length === 0) return { value: { drift }, message: noDrift }
      return { value: { drift }, message: `Topics differ from the catalogue. ${drift.join(' ')}`, ok: false }
    },
  },
  {
    usage: 'topics apply',
    async run(args, context) {
      rejectArguments('topics apply', args)
      const topics = await context.applyTopics()
      return { value: { topics }, message: noDrift }
    },
  },
  {
    usage: 'indexes apply',
    async run(args, context) {
      rejectArguments('indexes apply', args)
      const indexes = await context.applyIndexes()
      const created = indexes.filter(({ is }) => is === 'created').length
      return {
        value: { indexes },
        message: `Created ${created} of ${indexes.length} indexes; the others already exist.`,
      }
    },
  },
]
