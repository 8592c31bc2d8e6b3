import { randomUUID } from 'node:crypto'
import type { Difference, ProjectionState } from '#shared/ports/projections.ts'
import type { ProjectionBuild } from './projection-build.ts'
import { compareSettled, type Holder, handOver, type ProjectionTools, whileHolding } from './projection-changes.ts'
import type { AdminTools, Command, CommandResult } from './tools.ts'
import { takesNothing } from './topics-commands.ts'
import { UsageFault } from './usage-fault.ts'

export const projectionsCommands: readonly Command[] = [
  {
    usage: 'projections show',
    async run(args, tools) {
      takesNothing('projections show', args)
      const state = await tools.projections().keeper.state()
      return { value: state, message: `${state.active} is read.` }
    },
  },
  {
    usage: 'projections rebuild [--check] [--force]',
    run: (args, tools) => rebuild(tools, rebuildOptions(args)),
  },
  {
    usage: 'projections rollback',
    run(args, tools) {
      takesNothing('projections rollback', args)
      return rollback(tools)
    },
  },
]

type RebuildOptions = { readonly check: boolean; readonly force: boolean }
const differencesListed = 100

function rebuildOptions(args: readonly string[]): RebuildOptions {
  const unknown = args.find((arg) => arg !== '--check' && arg !== '--force')
  if (unknown !== undefined) throw new UsageFault(`projections rebuild takes --check and --force, and no ${unknown}.`)
  const [check, force] = [args.includes('--check'), args.includes('--force')]
  if (check && force) throw new UsageFault('projections rebuild takes either --check or --force.')
  return { check, force }
}

type Task = {
  readonly holder: Holder
  readonly build: ProjectionBuild
  readonly state: ProjectionState
  readonly target: string
}

/** Begins, builds while `work` needs it, and leaves nothing half done behind. */
async function building(
  tools: ProjectionTools,
  kind: 'new' | 'previous',
  work: (task: Task) => Promise<CommandResult>,
): Promise<CommandResult> {
  const begun = await tools.keeper.begin(randomUUID(), kind, tools.now())
  if (begun.is === 'no_previous') {
    return { value: null, ok: false, message: 'There is no earlier collection to go back to. Nothing was changed.' }
  }
  if (begun.is === 'taken') {
    const message = `Another command works on ${begun.by.collection}, or was ended within the last 30 seconds. Nothing was changed; repeat it later.`
    return { value: null, ok: false, message }
  }
  const { collection: target, state, holder: id } = begun
  return await whileHolding(tools, id, async (holder) => {
    const build = tools.buildOf({ active: state.active, target, pause: holder.pause })
    try {
      await build.start()
      return await work({ holder, build, state, target })
    } finally {
      await build.stop()
      const now = await tools.keeper.state()
      if (now.alongside === target && now.active === state.active) await holder.change({ ...state, alongside: null })
      const isUsed = [now.active, now.previous].includes(target)
      if (!isUsed) await tools.keeper.drop(target)
    }
  })
}

async function rebuild(admin: AdminTools, { check, force }: RebuildOptions): Promise<CommandResult> {
  const tools = admin.projections()
  return await building(tools, 'new', async (task) => {
    const { build, state, target } = task
    tools.tell(`Building ${target} from the beginning of the log; ${state.active} is read meanwhile.`)
    await build.caughtUp()
    await tools.applyIndexes(target)
    const { documents, differences } = await compareSettled(tools, build, { active: state.active, target })
    const { events, seconds } = build.folded()
    const rate = Math.round(events / Math.max(seconds, 0.001))
    tools.tell(`${events} events folded in ${seconds.toFixed(1)} s, ${rate} per second.`)
    const value = {
      collection: check ? null : target,
      events,
      seconds: Number(seconds.toFixed(1)),
      events_per_second: rate,
      documents,
      ...listed(differences),
      switched: false,
    }
    const found = `${differences.length} of ${documents} documents differ.`
    if (check) return { value, message: found, ...(differences.length > 0 && { ok: false }) }
    const missing = differences.filter(({ is }) => is === 'missing').length
    if (missing > 0 && !force) {
      const message = `${missing} jobs of ${state.active} are not in the log, so the new collection was not taken and is removed. With --force they would be lost to readers.`
      return { value: { ...value, collection: null }, ok: false, message }
    }
    await handOver(tools, task.holder, task)
    return { value: { ...value, switched: true }, message: `${found} ${target} is read now.` }
  })
}

async function rollback(admin: AdminTools): Promise<CommandResult> {
  const tools = admin.projections()
  return await building(tools, 'previous', async (task) => {
    tools.tell(`Bringing ${task.target} up to date; ${task.state.active} is read meanwhile.`)
    await task.build.caughtUp()
    await tools.applyIndexes(task.target)
    const { active, previous } = await handOver(tools, task.holder, task)
    return { value: { collection: active, previous }, message: `${active} is read again.` }
  })
}

const listed = (differences: readonly Difference[]) => ({
  differing: differences.length,
  differences: differences
    .slice(0, differencesListed)
    .map(({ jobId, is, members }) => ({ job_id: jobId, is, members })),
})
