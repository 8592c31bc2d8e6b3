/** The partition of `__consumer_offsets` whose leader is the coordinator of the group: Java's hash of the group id. */
export function coordinatorPartition(groupId: string, partitions: number): number {
  let hash = 0
  for (const unit of groupId) hash = (Math.imul(hash, 31) + unit.charCodeAt(0)) | 0
  return (hash & 0x7fffffff) % partitions
}
