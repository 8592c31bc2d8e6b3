/**
 * - stored: the batch is in the log once
 * - too_large: the broker refused the batch for its size and did not store it
 * - not_stored: this request did not store the batch; a later one may
 * - producer_lost: the broker has other sequence numbers for this producer and did not store the batch
 * - unknown: the batch may be stored; a repeat with the same sequence numbers stores it at most once
 * - failed: the broker refuses the batch and will refuse a repeat
 */
export type BatchAnswer = 'stored' | 'too_large' | 'not_stored' | 'producer_lost' | 'unknown' | 'failed'

/** Codes of the Kafka protocol (https://kafka.apache.org/protocol.html#protocol_error_codes). */
const answers: ReadonlyMap<number, BatchAnswer> = new Map([
  [0, 'stored'],
  [46, 'stored'], // DUPLICATE_SEQUENCE_NUMBER
  [10, 'too_large'], // MESSAGE_TOO_LARGE
  [18, 'too_large'], // RECORD_LIST_TOO_LARGE
  [3, 'not_stored'], // UNKNOWN_TOPIC_OR_PARTITION
  [5, 'not_stored'], // LEADER_NOT_AVAILABLE
  [19, 'not_stored'], // NOT_ENOUGH_REPLICAS
  [45, 'producer_lost'], // OUT_OF_ORDER_SEQUENCE_NUMBER
  [47, 'producer_lost'], // INVALID_PRODUCER_EPOCH
  [59, 'producer_lost'], // UNKNOWN_PRODUCER_ID
  [2, 'unknown'], // CORRUPT_MESSAGE
  [6, 'unknown'], // NOT_LEADER_OR_FOLLOWER: also when leadership moves while the leader waits for its replicas
  [7, 'unknown'], // REQUEST_TIMED_OUT
  [13, 'unknown'], // NETWORK_EXCEPTION
  [20, 'unknown'], // NOT_ENOUGH_REPLICAS_AFTER_APPEND
  [56, 'unknown'], // KAFKA_STORAGE_ERROR
])

export const classifyAnswer = (errorCode: number): BatchAnswer => answers.get(errorCode) ?? 'failed'
