import { expect, test } from 'vitest'
import { javaMajor } from '#infra/backing-services/kafka-install.ts'
import { mongodMajor } from '#infra/backing-services/mongodb-install.ts'

test.each([
  ['openjdk version "17.0.15" 2025-04-15', 17],
  ['java version "1.8.0_392"', 8],
  ['openjdk version "21" 2023-09-19', 21],
  ['The operation could not be completed. Unable to locate a Java Runtime.', undefined],
])('%s is Java %s', (output, major) => {
  expect(javaMajor(output)).toBe(major)
})

test.each([
  ['db version v6.0.5\nBuild Info: {', 6],
  ['db version v8.0.12', 8],
  ['', undefined],
])('%s is MongoDB %s', (output, major) => {
  expect(mongodMajor(output)).toBe(major)
})
