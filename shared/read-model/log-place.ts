/**
 * A place in the history of one partition: epoch × 2^44 + offset. The epoch grows when the log lost records or was
 * replaced. So a place read later is always larger, although the log uses offsets again. Without such a loss, a place
 * equals its offset. Numbers are exact for 511 epochs.
 */
export type LogPlace = number

const placesPerEpoch = 2 ** 44

export const offsetAt = (place: LogPlace): number => place % placesPerEpoch

/** The place of offset 0 in the epoch of `place`. */
export const epochStart = (place: LogPlace): LogPlace => place - offsetAt(place)

export const inNextEpoch = (place: LogPlace, offset: number): LogPlace => epochStart(place) + placesPerEpoch + offset
