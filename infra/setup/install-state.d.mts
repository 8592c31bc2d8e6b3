type Lockfile = { packages: Record<string, { version?: string; optional?: boolean }> }

export const oldestNode: string
export function installState(root: string): 'current' | 'unstamped' | 'outdated'
export function stampInstall(root: string): void
export function holdsEverything(wanted: Lockfile, installed: Lockfile): boolean
export function isNodeRecent(version: string): boolean
