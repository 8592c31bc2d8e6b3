import type { Command } from './tools.ts'
import { takesNothing } from './topics-commands.ts'

export const indexesCommands: readonly Command[] = [
  {
    usage: 'indexes apply',
    async run(args, tools) {
      takesNothing('indexes apply', args)
      const indexes = await tools.applyIndexes()
      const created = indexes.filter(({ is }) => is === 'created').length
      return { value: { indexes }, message: `${created} of ${indexes.length} indexes were missing and are created.` }
    },
  },
]
