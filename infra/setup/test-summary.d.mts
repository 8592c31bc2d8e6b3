type Outcome = { passed: number; failed: number; failures: readonly string[] }
type StepResult = { name: string; failed: boolean; tests?: Outcome }

export function outcomeOf(report: unknown, root?: string): Outcome
export function summaryOf(results: readonly StepResult[]): { lines: string[]; failed: boolean }
