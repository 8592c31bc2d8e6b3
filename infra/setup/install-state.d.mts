export const oldestNode: string
export function isInstalled(root: string): boolean
export function isNodeRecent(version: string): boolean
