type Partitions = {
  readonly count: number
  partitionFor(jobId: string): number
  /** Whether appends to this partition are acknowledged now. */
  accepts(partition: number): boolean
}

/** If one of twelve partitions accepts appends, 200 random ids all miss it once in 36 million cases. */
const maxTries = 200

/**
 * Returns random job ids of partitions that accept appends, all such partitions equally often. If no partition accepts
 * appends, returns any id: its append waits for the log.
 */
export const createNewJobId = (partitions: Partitions, randomId: () => string) =>
  function newJobId(): string {
    let jobId = randomId()
    if (partitions.accepts(partitions.partitionFor(jobId))) return jobId
    const accepting = new Set([...Array(partitions.count).keys()].filter((id) => partitions.accepts(id)))
    if (accepting.size === 0) return jobId
    for (let tries = 1; tries < maxTries && !accepting.has(partitions.partitionFor(jobId)); tries += 1)
      jobId = randomId()
    return jobId
  }
