type Counts = { passed: number; failed: number }
type StepResult = { name: string; failed: boolean; tests?: Counts }

export function countsOf(report: unknown): Counts
export function summaryOf(results: readonly StepResult[]): { lines: string[]; failed: boolean }
