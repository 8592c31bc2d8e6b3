import { readFileSync } from 'node:fs'
import {
  parseAddressBlocks,
  parseBrokers,
  parseDurations,
  parseHttpUrl,
  parseSecretsKey,
  parseWebhookSecrets,
} from './parse.ts'

const accepts = (parse: (text: string) => unknown) => (text: string) => {
  try {
    parse(text)
    return true
  } catch {
    return false
  }
}

/** The formats named in `variables.ts`: a value has one exactly when its reader accepts it. */
export const formats: Readonly<Record<string, (text: string) => boolean>> = {
  'address-blocks': accepts(parseAddressBlocks),
  brokers: accepts(parseBrokers),
  durations: accepts(parseDurations),
  'http-url': accepts(parseHttpUrl),
  'mongodb-url': (text) => /^mongodb(\+srv)?:\/\/[^/\s]+/.test(text),
  'pem-file': accepts((path) => {
    if (!readFileSync(path, 'utf8').includes('-----BEGIN ')) throw new RangeError('Not PEM.')
  }),
  'secrets-key': accepts(parseSecretsKey),
  'webhook-secrets': accepts(parseWebhookSecrets),
}
