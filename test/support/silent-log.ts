import type { Log } from '#shared/runtime/log.ts'

/** Writes nothing. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => silentLog }
