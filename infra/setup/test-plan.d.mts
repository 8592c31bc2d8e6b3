export type Tier = { name: string; files: string[] }
export type Run = {
  is: 'run'
  checks: boolean
  watch: boolean
  tiers: Tier[]
  testName: string | undefined
  full: boolean
}
export type TestPlan = Run | { is: 'refused'; reason: string }

export function planTests(args: readonly string[], files: readonly string[]): TestPlan
