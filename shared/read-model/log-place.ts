/**
 * A place in the history of one partition: epoch × 2^44 + offset. The epoch grows when the log lost records or was
 * replaced. A place read later is therefore always larger, even when the log reuses offsets. In epoch 0, a
 * place equals its offset. Numbers are exact for 511 epochs.
 */
export type LogPlace = number

const placesPerEpoch = 2 ** 44

export const offsetAt = (place: LogPlace): number => place % placesPerEpoch

/** The place of offset 0 in the epoch of `place`. */
export const epochStart = (place: LogPlace): LogPlace => place - offsetAt(place)

export const inNextEpoch = (place: LogPlace, offset: number): LogPlace => epochStart(place) + placesPerEpoch + offset
