import { type Command, rejectArguments } from './command.ts'

const noDrift = 'All topics match the catalogue.'

export const setupCommands: readonly Command[] = [
  {
    usage: 'topics check',
    async run(args, context) {
      rejectArguments('topics check', args)
      const drift = await context.checkTopics()
      const warnings = await context.clusterWarnings()
      const summary = drift.length === 0 ? noDrift : `Topics differ from the catalogue. ${drift.join(' ')}`
      const message = [summary, ...warnings.map((warning) => `Warning: ${warning}`)].join('\n')
      return { value: { drift, warnings }, message, ...(drift.length > 0 && { ok: false }) }
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
