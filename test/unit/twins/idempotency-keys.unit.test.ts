import { describe } from 'vitest'
import { idempotencyKeysContract } from '#test/contract/idempotency-keys.ts'
import { createMemoryIdempotencyKeys } from '#test/twins/idempotency-keys.ts'

describe('idempotency keys in memory', () => idempotencyKeysContract(createMemoryIdempotencyKeys))
