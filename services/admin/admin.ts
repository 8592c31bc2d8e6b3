import { clientsCommands } from './clients-commands.ts'
import { deadLettersCommands } from './dead-letters-commands.ts'
import { indexesCommands } from './indexes-commands.ts'
import { projectionsCommands } from './projections-commands.ts'
import type { AdminTools, Command } from './tools.ts'
import { topicsCommands } from './topics-commands.ts'
import { UsageFault } from './usage-fault.ts'

const commands: readonly Command[] = [
  ...clientsCommands,
  ...topicsCommands,
  ...indexesCommands,
  ...projectionsCommands,
  ...deadLettersCommands,
]

/** What the process prints and answers: one JSON value for programs, a message for people; 0, 1 or, for a wrong command line, 2. */
export type AdminResult = {
  readonly exitCode: 0 | 1 | 2
  readonly json: string | null
  readonly message: string | null
}

/** Runs the command that the arguments name and closes the tools. Never throws. */
export async function runAdmin(args: readonly string[], tools: AdminTools): Promise<AdminResult> {
  try {
    if (args.includes('--help') || args.includes('-h')) return { exitCode: 0, json: null, message: listing() }
    const command = commandFor(args)
    const { value, message = null, ok = true } = await command.run(args.slice(wordsOf(command).length), tools)
    return { exitCode: ok ? 0 : 1, json: JSON.stringify(value), message }
  } catch (error) {
    return { exitCode: error instanceof UsageFault ? 2 : 1, json: null, message: sentenceFor(error) }
  } finally {
    await tools.close()
  }
}

/** `clients update CLIENT_ID [--name N]` → `clients`, `update`. */
const wordsOf = ({ usage }: Command): readonly string[] =>
  usage.split(' ').filter((word) => /^[a-z-]+$/.test(word) && !word.startsWith('-'))

function commandFor(args: readonly string[]): Command {
  const command = commands.find((one) => wordsOf(one).every((word, index) => args[index] === word))
  if (command !== undefined) return command
  const asked = args
    .filter((arg) => /^[a-z-]+$/.test(arg) && !arg.startsWith('-'))
    .slice(0, 2)
    .join(' ')
  const fault = asked === '' ? 'No command was given.' : `There is no command "${asked}".`
  throw new UsageFault(fault, `\n\n${listing()}`)
}

const listing = () =>
  ['The commands, after `npm run --silent admin --`:', ...commands.map(({ usage }) => `  ${usage}`)].join('\n')

function sentenceFor(error: unknown): string {
  if (!(error instanceof Error)) return `The command failed: ${String(error)}`
  if (!('code' in error) || error.code !== 'service_unavailable') return error.message
  return `${error.message} Nothing is known to have been changed. Check that it runs and that its address is right, then repeat the command.`
}
