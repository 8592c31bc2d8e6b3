/** A client may hold this part of the budget, so that one client cannot use all of it. */
const clientPart = 1 / 4

/** Limits the bytes that the requests of a process hold: received bodies, inflated bodies and unsent responses. */
export type ByteBudget = {
  /** The caller must call `release` when the request has ended. */
  open(clientId: string): ByteReservation
  readonly totalBytes: number
  usedBytes(): number
}

export type ByteReservation = {
  /** Returns false, and reserves nothing, if the budget or the part of the client would be exceeded. */
  add(bytes: number): boolean
  /** Changes the reservation to `bytes`. Returns false, and changes nothing, if this would exceed a limit. */
  replace(bytes: number): boolean
  /** Idempotent. Later calls of `add` and `replace` return false. */
  release(): void
}

export function createByteBudget(totalBytes: number): ByteBudget {
  const byClient = new Map<string, number>()
  let used = 0

  function change(clientId: string, by: number): boolean {
    const ofClient = (byClient.get(clientId) ?? 0) + by
    if (by > 0 && (used + by > totalBytes || ofClient > totalBytes * clientPart)) return false
    used += by
    if (ofClient === 0) byClient.delete(clientId)
    else byClient.set(clientId, ofClient)
    return true
  }

  return {
    totalBytes,
    usedBytes: () => used,
    open(clientId) {
      let held = 0
      let open = true
      const replace = (bytes: number): boolean => {
        if (!open || !change(clientId, bytes - held)) return false
        held = bytes
        return true
      }
      return {
        add: (bytes) => replace(held + bytes),
        replace,
        release() {
          replace(0)
          open = false
        },
      }
    },
  }
}
