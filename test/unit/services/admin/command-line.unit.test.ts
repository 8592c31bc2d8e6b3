import { expect, test } from 'vitest'
import { runAdmin } from '#services/admin/admin.ts'
import type { CommandContext } from '#services/admin/command.ts'

/** All methods throw, because a wrong command line must be rejected before a command connects. */
function unusableContext() {
  const state = { closed: 0 }
  const unusable = () => {
    throw new Error('the context was used')
  }
  const context: CommandContext = {
    clock: Date,
    registry: unusable,
    checkTopics: unusable,
    clusterWarnings: unusable,
    applyTopics: unusable,
    applyIndexes: unusable,
    deadLetters: unusable,
    projections: unusable,
    close: async () => void state.closed++,
  }
  return { context, state }
}

const create = 'clients create --name N'

test.each([
  ['', /^No command was given[\s\S]*\n {2}clients list\n/],
  ['--name N', /^No command was given/],
  ['clients', /^There is no command "clients"[\s\S]*\n {2}topics apply\n/],
  ['projections', /^There is no command "projections"/],
  ['projections rebuild now', /takes only --check or --force, not "now"/],
  ['projections rebuild --check --force', /either --check or --force/],
  ['projections rollback now', /takes no arguments/],
  ['clients create', /needs --name/],
  ['clients create --name', /--name/],
  ['clients create Shop', /options only/],
  [`${create} --colour red`, /--colour/],
  [`${create} --permissions jobs:write`, /--permissions must be one or more of contacts:import, jobs:read/],
  [`${create} --rate -1`, /--rate/],
  [`${create} --rate 1.5`, /--rate must be a whole number from 0 to 1000000/],
  [`${create} --allow 10.0.0.0/33`, /--allow must be/],
  [`${create} --allow shop.example`, /--allow must be/],
  [`${create} --region RUS`, /--region must be/],
  [`${create} --region XX`, /--region must be/],
  [`${create} --locale fr`, /--locale must be en or ru/],
  [`${create} --chunk-size 9`, /--chunk-size must be a whole number from 10 to 1000/],
  [`${create} --chunk-size 1001`, /--chunk-size/],
  ['clients update cl_1', /needs at least one option/],
  ['clients update --name N', /needs one CLIENT_ID/],
  ['clients update cl_1 cl_2 --name N', /needs one CLIENT_ID/],
  ['clients list all', /takes no arguments/],
  ['clients revoke', /needs one CLIENT_ID/],
  ['clients rotate-key cl_1 --grace soon', /--grace must be a whole number/],
  ['topics apply now', /takes no arguments/],
  ['indexes apply now', /takes no arguments/],
  ['dead-letters', /There is no command "dead-letters"/],
  ['dead-letters list --reason odd', /--reason must be one of no_key, bad_header/],
  ['dead-letters list --limit 0', /--limit must be a whole number from 1 to 10000/],
  ['dead-letters list --dry-run', /takes no --dry-run/],
  ['dead-letters list odd', /odd/],
  ['dead-letters redrive --rate 0', /--rate must be a whole number from 1 to 10000/],
  ['dead-letters redrive --all', /takes no --all/],
  ['dead-letters purge', /needs either --all or at least one --reason or --id/],
  ['dead-letters purge --all --reason no_key', /needs either --all or/],
])('"%s" is rejected with exit code 2 before a connection is opened', async (line, message) => {
  const { context, state } = unusableContext()
  const result = await runAdmin(line === '' ? [] : line.split(' '), context)
  expect(result).toMatchObject({ exitCode: 2, json: null })
  expect(result.message).toMatch(message)
  expect(result.message).toContain('Nothing was changed.')
  expect(state.closed).toBe(1)
})

test('one error lists every invalid option', async () => {
  const { context } = unusableContext()
  const line = `${create} --rate x --locale fr --chunk-size 1`
  expect((await runAdmin(line.split(' '), context)).message?.split('\n')).toHaveLength(3)
})

test('--help lists the commands on stdout', async () => {
  const { context } = unusableContext()
  const result = await runAdmin(['--help'], context)
  expect(result).toEqual({
    exitCode: 0,
    json: null,
    message: null,
    help: expect.stringContaining('clients rotate-secret'),
  })
})
