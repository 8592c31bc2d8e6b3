/** The number of cases of a property test: `quick` by default, `full` when `npm test -- --full` set `TEST_FULL=1`. */
export const propertyRuns = (quick: number, full: number): number => (process.env.TEST_FULL === '1' ? full : quick)
