import type { ContactInput } from '#schemas/contact.ts'
import { createRandom, type Random } from './random.ts'

const shares = { international: 0.7, national: 0.25 } as const

/** Independent of the seed. International and national phones are valid in region RU. */
export function sampleCounts(count: number): { international: number; national: number; invalid: number } {
  const international = Math.round(count * shares.international)
  const national = Math.round(count * shares.national)
  return { international, national, invalid: count - international - national }
}

const digits = (random: Random, length: number): string => Array.from({ length }, () => random.below(10)).join('')

/** Prefix and number of further digits. Every such number is valid. */
const internationalForms = [
  ['+790', 8],
  ['+791', 8],
  ['+798', 8],
  ['+7701', 7],
  ['+4915112', 6],
  ['+447712', 6],
] as const

const nationalForms: readonly ((code: string, a: string, b: string, c: string) => string)[] = [
  (code, a, b, c) => `8${code}${a}${b}${c}`,
  (code, a, b, c) => `8 (${code}) ${a}-${b}-${c}`,
  (code, a, b, c) => `8-${code}-${a}-${b}-${c}`,
  (code, a, b, c) => `7${code}${a}${b}${c}`,
  (code, a, b, c) => `${code}${a}${b}${c}`,
  (code, a, b, c) => `(${code}) ${a} ${b} ${c}`,
  (code, a, b, c) => ` 8.${code}.${a}.${b}.${c} `,
]

const invalidForms: readonly ((random: Random) => string)[] = [
  () => '',
  () => 'нет номера',
  () => 'call me',
  () => '000',
  (random) => `+790${digits(random, 6)}`,
  (random) => `+790${digits(random, 12)}`,
  () => '8 123 456 78 90',
  (random) => `+790${digits(random, 8)} доб. ${random.below(100)}`,
  (random) => `+790${digits(random, 8)}, +791${digits(random, 8)}`,
]

const phones = {
  international: (random: Random) => {
    const [prefix, rest] = random.pick(internationalForms)
    return prefix + digits(random, rest)
  },
  national: (random: Random) =>
    random.pick(nationalForms)(
      `9${random.below(2)}${random.below(10)}`,
      digits(random, 3),
      digits(random, 2),
      digits(random, 2),
    ),
  invalid: (random: Random) => random.pick(invalidForms)(random),
}

const tagWords = [
  'lead',
  'vip',
  'newsletter',
  'churn-risk',
  'москва',
  'санкт-петербург',
  'b2b',
  'spring-2026',
  '🎁 gift',
] as const
const names = ['Анна', 'Иван', 'Мария', 'Олег', 'Renée', 'Şule', 'John', '李雷'] as const
const sources = ['website', 'shop', 'call-center', 'partner', 'fair'] as const

const fieldMakers: Readonly<Record<string, (random: Random) => unknown>> = {
  first_name: (random) => random.pick(names),
  source: (random) => random.pick(sources),
  loyalty_points: (random) => random.below(10_000),
  consent: (random) => random.chance(0.9),
  email: (random) => `person${random.below(1_000_000)}@example.com`,
  birth_date: (random) => `19${50 + random.below(50)}-0${1 + random.below(9)}-1${random.below(10)}`,
  discount: (random) => random.below(5000) / 100,
  last_order: (random) => ({
    id: `A-${digits(random, 6)}`,
    total: random.below(100_000) / 100,
    items: Array.from({ length: 1 + random.below(3) }, () => ({
      sku: digits(random, 5),
      quantity: 1 + random.below(4),
    })),
  }),
  referred_by: () => null,
  comment: (random) => `Перезвонить после ${9 + random.below(9)}:00, «срочно» \\ "${random.pick(names)}"\n`,
}

function contact(kind: keyof typeof phones, random: Random): ContactInput {
  const tags = tagWords.filter(() => random.chance(0.25))
  const fields = Object.entries(fieldMakers).filter(() => random.chance(0.5))
  return {
    phone: phones[kind](random),
    ...(random.chance(0.85) && { tags }),
    ...(random.chance(0.85) && {
      additionalFields: Object.fromEntries(fields.map(([name, make]) => [name, make(random)])),
    }),
  }
}

/** 70 % E.164, 25 % national Russian formats, 5 % invalid phones, in random order. Deterministic for count and seed. */
export function sampleContacts({ count, seed }: { count: number; seed: number }): ContactInput[] {
  const random = createRandom(seed)
  const counts = sampleCounts(count)
  const kinds = (['international', 'national', 'invalid'] as const).flatMap((kind) =>
    Array.from({ length: counts[kind] }, () => kind),
  )
  return random.shuffled(kinds).map((kind) => contact(kind, random))
}
