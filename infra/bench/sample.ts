import { sampleContacts } from '#test/support/builders/sample-contacts.ts'
import { numberOption, optionsFrom } from './options.ts'

const given = optionsFrom('node infra/bench/sample.ts --contacts 10000 [--seed 1] > import.json', ['contacts', 'seed'])
const count = numberOption(given, 'contacts', { fallback: 10_000, min: 1, max: 100_000 })
const seed = numberOption(given, 'seed', { fallback: 1, min: 0, max: 2 ** 32 - 1 })
process.stdout.write(`${JSON.stringify(sampleContacts({ count, seed }))}\n`)
