import { describe } from 'vitest'
import { createMemoryIdempotencyKeys } from '#shared/adapters/memory/idempotency-keys.ts'
import { idempotencyKeysContract } from '#test/contract/idempotency-keys.ts'

describe('idempotency keys in memory', () => idempotencyKeysContract(createMemoryIdempotencyKeys))
