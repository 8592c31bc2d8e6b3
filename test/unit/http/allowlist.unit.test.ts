import { describe, expect, test } from 'vitest'
import { createAllowlist } from '#shared/http/guard.ts'

const isAllowed = createAllowlist()

describe('an allowlist', () => {
  test('allows every address when it is empty', () => {
    for (const address of ['192.0.2.1', '2001:db8::1', 'no address', undefined]) {
      expect(isAllowed(address, [])).toBe(true)
    }
  })

  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7', '192.0.2.0/24'],
    ['10.255.255.255', '10.0.0.0/8'],
    ['192.0.2.7', '0.0.0.0/0'],
    ['2001:db8::7', '2001:db8::7'],
    ['2001:DB8:0:0::7', '2001:db8::/32'],
    ['2001:db8::7', '::/0'],
    ['::1', '::1'],
    ['fe80::1%eth0', 'fe80::/10'],
    ['::ffff:192.0.2.7', '192.0.2.0/24'],
    ['::FFFF:c000:0207', '192.0.2.0/24'],
    ['0:0:0:0:0:ffff:c000:207', '192.0.2.7'],
    ['192.0.2.7', '::ffff:192.0.2.7'],
    ['192.0.2.7', '::ffff:192.0.2.0/120'],
    ['::ffff:192.0.2.7', '::ffff:0:0/96'],
  ])('address %s matches entry %s', (address, block) => {
    expect(isAllowed(address, ['203.0.113.9', block])).toBe(true)
  })

  test.each([
    ['192.0.2.8', '192.0.2.7'],
    ['192.0.3.0', '192.0.2.0/24'],
    ['11.0.0.0', '10.0.0.0/8'],
    ['2001:db9::', '2001:db8::/32'],
    ['192.0.2.7', '::/0'],
    ['::ffff:192.0.2.7', '::/0'],
    ['::ffff:192.0.2.7', '::ffff:0:0/90'],
    ['192.0.2.7', '::ffff:192.0.2.128/121'],
    ['2001:db8::7', '0.0.0.0/0'],
    ['::192.0.2.7', '192.0.2.0/24'],
    ['::1', '127.0.0.0/8'],
    ['127.0.0.1', '::1'],
    ['', '0.0.0.0/0'],
    [undefined, '0.0.0.0/0'],
    ['unknown', '0.0.0.0/0'],
    ['192.0.2.7:8080', '0.0.0.0/0'],
    ['192.0.2', '0.0.0.0/0'],
    ['192.0.2.007', '0.0.0.0/0'],
    ['192.0.2.7, 192.0.2.8', '0.0.0.0/0'],
    ['[2001:db8::7]', '::/0'],
  ])('address %s does not match entry %s', (address, block) => {
    expect(isAllowed(address, ['203.0.113.9', block])).toBe(false)
  })
})
