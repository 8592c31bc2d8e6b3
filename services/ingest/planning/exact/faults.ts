import type { Fault, FaultCode } from '#schemas/errors.ts'
import { limits } from '#schemas/limits.ts'

/** One more than the response lists, so that the response can state that there are more. */
export const maxFaults = limits.faultsListed + 1

/** A fault at a longer name points to the object that contains the name. */
const maxNameLength = 256

export type FaultList = {
  readonly faults: readonly Fault[]
  isFull(): boolean
  add(code: FaultCode, path: readonly (string | number)[]): void
}

/** At most `maxFaults` faults, with JSON Pointers (RFC 6901 §3) below `pointer`. */
export function newFaultList(pointer: string): FaultList {
  const faults: Fault[] = []
  return {
    faults,
    isFull: () => faults.length >= maxFaults,
    add(code, path) {
      if (faults.length < maxFaults) faults.push({ pointer: pointer + pointerOf(path), code })
    },
  }
}

function pointerOf(path: readonly (string | number)[]): string {
  const tooLong = path.findIndex((name) => String(name).length > maxNameLength)
  const shown = tooLong < 0 ? path : path.slice(0, tooLong)
  return shown.map((name) => `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}
