/**
 * One digest per version of the fold, oldest first: SHA-256 of the documents that the fold makes of the released event
 * samples. When the fold makes other documents, append a digest. Never change one that was released.
 */
export const foldDigests: readonly string[] = ['6fa7450fd5d75ecd4e9f231f66803dcc00c1c138f66a6383435634c7d0c96d93']

/** Stored with the documents that this fold builds. */
export const foldVersion = foldDigests.length
