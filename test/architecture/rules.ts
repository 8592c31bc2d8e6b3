import { importsHaveNoCycles, importsStayInLayers } from './layers.ts'
import {
  filesStayShort,
  namesSayWhatTheyMean,
  nothingIsTiedToOneMachine,
  portsAreTypes,
  textsNameWhatExists,
  topLevelIsAsLaidOut,
} from './shape.ts'
import type { Rule } from './source.ts'
import { everyTestIsRun, noTestIsLeftOut, testsDoNotSleep } from './tests.ts'

/** Every rule of the repository, by the promise it keeps. `tiers` are the globs of the test runner's projects. */
export const rulesOf = (tiers: readonly string[]): Readonly<Record<string, Rule>> => ({
  'imports stay in their layers': importsStayInLayers,
  'imports have no cycles': importsHaveNoCycles,
  'ports are types': portsAreTypes,
  'files stay short': filesStayShort,
  'the top level is as laid out': topLevelIsAsLaidOut,
  'names say what they mean': namesSayWhatTheyMean,
  'nothing is tied to one machine': nothingIsTiedToOneMachine,
  'texts name what exists': textsNameWhatExists,
  'every test is run by a tier': everyTestIsRun(tiers),
  'no test is left out': noTestIsLeftOut,
  'tests do not sleep': testsDoNotSleep,
})
