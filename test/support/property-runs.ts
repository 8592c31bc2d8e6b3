/** The number of cases of a property test. `npm test -- --full` sets `TEST_FULL=1`. */
export const propertyRuns = (quick: number, full: number): number => (process.env.TEST_FULL === '1' ? full : quick)
