import { lookup as resolve } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

export class AddressRefused extends Error {
  readonly code = 'address_refused'

  constructor() {
    super('The address is not a public one.')
    this.name = 'AddressRefused'
  }
}

/** Addresses that are not globally reachable (IANA special-purpose address registries, RFC 6890). */
const special = new BlockList()
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const) {
  special.addSubnet(network, bits, 'ipv4')
}
for (const [network, bits] of [
  ['::', 127],
  ['64:ff9b:1::', 48],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const) {
  special.addSubnet(network, bits, 'ipv6')
}

// BlockList checks IPv4-mapped IPv6 addresses against its IPv4 rules.
const isSpecial = (address: string): boolean => special.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** False for every host name: `publicLookup` checks host names when they are resolved. */
export function refusesHost(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '')
  return isIP(address) !== 0 && isSpecial(address)
}

/** Fails with `AddressRefused` when any address of the host name is not public. */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  resolve(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, '', 0)
    if (addresses.some(({ address }) => isSpecial(address))) return callback(new AddressRefused(), '', 0)
    const [one] = addresses
    return options.all ? callback(null, addresses) : callback(null, one?.address ?? '', one?.family ?? 0)
  })
}
