import { adrsFollowTheTemplate, documentReferencesExist } from './documents.ts'
import { importsHaveNoCycles, importsStayInLayers } from './layers.ts'
import { namesAreSpecific, noFileDependsOnOneMachine, portsAreTypes, topLevelEntriesAreFixed } from './shape.ts'
import { commentsStayShort, filesStayShort, functionsStayShort, portsStaySmall } from './sizes.ts'
import type { Rule } from './source.ts'
import { eventuallyDoesNotReadTheClock, everyTestIsRun, noTestIsSkipped, testsDoNotSleep } from './tests.ts'

/** All rules by name. `tiers`: the globs of the Vitest projects. */
export const rulesOf = (tiers: readonly string[]): Readonly<Record<string, Rule>> => ({
  'imports stay in their layers': importsStayInLayers,
  'imports have no cycles': importsHaveNoCycles,
  'ports are types': portsAreTypes,
  'ports have at most 3 methods': portsStaySmall,
  'files have at most 300 lines': filesStayShort,
  'functions have at most 60 lines': functionsStayShort,
  'comments have at most 3 lines': commentsStayShort,
  'the top folder has only the listed entries': topLevelEntriesAreFixed,
  'names are specific': namesAreSpecific,
  'no file depends on one machine': noFileDependsOnOneMachine,
  'references in documents exist': documentReferencesExist,
  'ADRs follow the template': adrsFollowTheTemplate,
  'every test is run': everyTestIsRun(tiers),
  'no test is skipped, focused or expected to fail': noTestIsSkipped,
  'tests do not sleep': testsDoNotSleep,
  'eventually does not read the clock': eventuallyDoesNotReadTheClock,
})
