import { randomUUID } from 'node:crypto'
import type { ProjectionState } from '#shared/ports/projections.ts'
import { type Command, type CommandContext, type CommandResult, rejectArguments, UsageError } from './command.ts'
import type { ProjectionBuild } from './projection-build.ts'
import { type Compared, compareUntilSettled } from './projection-comparison.ts'
import { type HeldLease, type ProjectionDeps, switchTo, thenCleanUp, withLease } from './projection-switch.ts'

export const projectionsCommands: readonly Command[] = [
  {
    usage: 'projections show',
    async run(args, context) {
      rejectArguments('projections show', args)
      const state = await context.projections().projections.state()
      return { value: state, message: `The active collection is ${state.active}.` }
    },
  },
  {
    usage: 'projections rebuild [--check] [--force]',
    run: (args, context) => rebuild(context, rebuildMode(args)),
  },
  {
    usage: 'projections rollback',
    run(args, context) {
      rejectArguments('projections rollback', args)
      return rollback(context)
    },
  },
]

/** check: compare only. safe: switch unless jobs are missing in the log. force: always switch. */
type RebuildMode = 'check' | 'safe' | 'force'
const differencesListed = 100

function rebuildMode(args: readonly string[]): RebuildMode {
  const unknown = args.find((arg) => arg !== '--check' && arg !== '--force')
  if (unknown !== undefined)
    throw new UsageError(`projections rebuild takes only --check or --force, not "${unknown}".`)
  const [check, force] = [args.includes('--check'), args.includes('--force')]
  if (check && force) throw new UsageError('projections rebuild takes either --check or --force, not both.')
  if (check) return 'check'
  return force ? 'force' : 'safe'
}

type Task = {
  readonly lease: HeldLease
  readonly build: ProjectionBuild
  readonly state: ProjectionState
  readonly target: string
}

const rejected = (message: string): CommandResult => ({ value: null, ok: false, message })

/** Acquires the lease and runs `work` with a started build. Drops the target if it is not in use afterwards. */
async function withBuild(
  deps: ProjectionDeps,
  kind: 'new' | 'previous',
  work: (task: Task) => Promise<CommandResult>,
): Promise<CommandResult> {
  const { projections } = deps
  const acquired = await projections.acquire(randomUUID(), kind, deps.now())
  if (acquired.is === 'no_previous')
    return rejected('There is no previous collection to switch back to. Nothing was changed.')
  if (acquired.is === 'held') {
    return rejected(
      `Another command is working on ${acquired.by.collection}, or was killed in the last 30 seconds. Nothing was changed. Repeat the command later.`,
    )
  }
  const { collection: target, state } = acquired
  return await withLease(deps, acquired.holder, async (lease) => {
    const build = deps.createBuild({ active: state.active, target, pause: lease.pause })
    const run = async () => {
      await build.start()
      return await work({ lease, build, state, target })
    }
    return await thenCleanUp(deps, run, async () => {
      await build.stop()
      const now = await projections.state()
      if (now.alongside === target && now.active === state.active) await lease.change({ ...state, alongside: null })
      if (![now.active, now.previous].includes(target)) await projections.drop(target)
    })
  })
}

async function rebuild(context: CommandContext, mode: RebuildMode): Promise<CommandResult> {
  const deps = context.projections()
  return await withBuild(deps, 'new', async (task) => {
    const { build, state, target } = task
    deps.print(`Building ${target} from the beginning of the log. Clients still read ${state.active}.`)
    await build.caughtUp()
    await deps.applyIndexes(target)
    const compared = await compareUntilSettled(deps, task, { active: state.active, target })
    const { documents, differing, missing } = compared
    const summary = { ...rateOf(deps, build), documents, ...differencesJson(compared), switched: false }
    const differ = `${differing} of ${documents} documents differ.`
    if (mode === 'check') {
      const value = { collection: null, ...summary }
      return { value, message: differ, ...(differing > 0 && { ok: false }) }
    }
    if (missing > 0 && mode !== 'force') {
      const message = `${missing} jobs of ${state.active} are not in the log. The new collection was removed, and ${state.active} stays active. To switch without these jobs, repeat the command with --force.`
      return { value: { collection: null, ...summary }, ok: false, message }
    }
    await switchTo(deps, task.lease, task)
    const value = { collection: target, ...summary, switched: true }
    return { value, message: `${differ} ${target} is active now.` }
  })
}

function rateOf({ print }: ProjectionDeps, build: ProjectionBuild) {
  const { events, seconds } = build.folded()
  const rate = Math.round(events / Math.max(seconds, 0.001))
  print(`${events} events processed in ${seconds.toFixed(1)} s, ${rate} per second.`)
  return { events, seconds: Number(seconds.toFixed(1)), events_per_second: rate }
}

async function rollback(context: CommandContext): Promise<CommandResult> {
  const deps = context.projections()
  return await withBuild(deps, 'previous', async (task) => {
    deps.print(`Adding the missing events to ${task.target}. Clients still read ${task.state.active}.`)
    await task.build.caughtUp()
    await deps.applyIndexes(task.target)
    const { active, previous } = await switchTo(deps, task.lease, task)
    return { value: { collection: active, previous }, message: `${active} is active again.` }
  })
}

const differencesJson = ({ differing, differences }: Compared) => ({
  differing,
  differences: differences
    .slice(0, differencesListed)
    .map(({ jobId, is, members }) => ({ job_id: jobId, is, members })),
})
