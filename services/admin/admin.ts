import { clientsCommands } from './clients-commands.ts'
import { type Command, type CommandContext, UsageError } from './command.ts'
import { deadLettersCommands } from './dead-letters-commands.ts'
import { projectionsCommands } from './projections-commands.ts'
import { setupCommands } from './setup-commands.ts'

const commands: readonly Command[] = [
  ...clientsCommands,
  ...setupCommands,
  ...projectionsCommands,
  ...deadLettersCommands,
]

/** `json` or `help` is for stdout, `message` for stderr. Exit code 2 means a wrong command line. */
export type AdminResult = {
  readonly exitCode: 0 | 1 | 2
  readonly json: string | null
  readonly message: string | null
  /** The text of `--help`, which is not a command and prints no JSON. */
  readonly help?: string
}

/** Runs the command and closes the context. Returns errors as a result with exit code 1 or 2. */
export async function runAdmin(args: readonly string[], context: CommandContext): Promise<AdminResult> {
  try {
    if (args.includes('--help') || args.includes('-h'))
      return { exitCode: 0, json: null, message: null, help: helpText() }
    const command = commandFor(args)
    const { value, message = null, ok = true } = await command.run(args.slice(nameOf(command).length), context)
    return { exitCode: ok ? 0 : 1, json: JSON.stringify(value), message }
  } catch (error) {
    return { exitCode: error instanceof UsageError ? 2 : 1, json: null, message: messageFor(error) }
  } finally {
    await context.close()
  }
}

/** `clients update CLIENT_ID [--name N]` → `clients`, `update`. */
const nameOf = ({ usage }: Command): readonly string[] =>
  usage.split(' ').filter((word) => /^[a-z-]+$/.test(word) && !word.startsWith('-'))

function commandFor(args: readonly string[]): Command {
  const command = commands.find((one) => nameOf(one).every((word, index) => args[index] === word))
  if (command !== undefined) return command
  const given = args
    .filter((arg) => /^[a-z-]+$/.test(arg) && !arg.startsWith('-'))
    .slice(0, 2)
    .join(' ')
  const fault = given === '' ? 'No command was given.' : `There is no command "${given}".`
  throw new UsageError(fault, `\n\n${helpText()}`)
}

const helpText = () =>
  [
    'Usage: `npm run --silent admin -- COMMAND`, where COMMAND is one of:',
    ...commands.map(({ usage }) => `  ${usage}`),
  ].join('\n')

function messageFor(error: unknown): string {
  if (!(error instanceof Error)) return `The command failed: ${String(error)}`
  if (!('code' in error) || error.code !== 'service_unavailable') return error.message
  return `${error.message} A change may or may not have been made. Check that the dependency runs and that its address is correct, then repeat the command.`
}
