import { decisionsHaveOneForm, documentsNameWhatExists } from './documents.ts'
import { importsHaveNoCycles, importsStayInLayers } from './layers.ts'
import { namesAreSpecific, nothingIsTiedToOneMachine, portsAreTypes, topLevelIsAsLaidOut } from './shape.ts'
import { commentsStayShort, filesStayShort, functionsStayShort, portsStaySmall } from './sizes.ts'
import type { Rule } from './source.ts'
import { eventuallyDoesNotReadTheClock, everyTestIsRun, noTestIsLeftOut, testsDoNotSleep } from './tests.ts'

/** Every rule of the repository, by its promise. `tiers` are the globs of the test runner's projects. */
export const rulesOf = (tiers: readonly string[]): Readonly<Record<string, Rule>> => ({
  'imports stay in their layers': importsStayInLayers,
  'imports have no cycles': importsHaveNoCycles,
  'ports are types': portsAreTypes,
  'ports have at most 3 methods': portsStaySmall,
  'files have at most 300 lines': filesStayShort,
  'functions have at most 60 lines': functionsStayShort,
  'comments have at most 3 lines': commentsStayShort,
  'the top folder has the fixed entries': topLevelIsAsLaidOut,
  'names are specific': namesAreSpecific,
  'nothing is tied to one machine': nothingIsTiedToOneMachine,
  'documents name what exists': documentsNameWhatExists,
  'decisions have one form': decisionsHaveOneForm,
  'a tier runs every test': everyTestIsRun(tiers),
  'no test is left out': noTestIsLeftOut,
  'tests do not sleep': testsDoNotSleep,
  'eventually does not read the clock': eventuallyDoesNotReadTheClock,
})
