import type { Log } from '#shared/runtime/log.ts'

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => silentLog }
