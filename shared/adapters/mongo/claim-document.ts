import type { Timestamp } from '#schemas/primitives.ts'

export type ClaimDocument = {
  /** `client id:key`. A client id has no colon, so the first colon is the separator. */
  _id: string
  payload_hash: string
  job_id: string
  correlation_id: string
  created_at: Timestamp
  plan: { chunk_size: number; max_contacts: number; region: string; phone_metadata_version: string }
  state: 'in_progress' | 'active'
  /** Random id of the call that made the current claim. Each caller compares this id with its own. */
  holder: string
  fence: number
  lease_until: Date
  /** The end of the former holder's lease. Absent unless the claim was taken over. */
  former_lease_until?: Date
  response: string | null
  access_count: number
  accessed_at: Date
  expires_at: Date
}
