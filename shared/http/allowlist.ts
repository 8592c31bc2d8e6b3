import { BlockList, isIP, SocketAddress } from 'node:net'

type Lists = { readonly 4: BlockList; readonly 6: BlockList }

/**
 * Whether an address may be used under an allowlist of addresses and CIDR blocks; an empty one allows any. IPv4-mapped
 * IPv6 (RFC 4291 §2.5.5.2) counts as IPv4, in addresses and blocks. What is no address is allowed by no block.
 */
export function createAllowlist(): (address: string | undefined, blocks: readonly string[]) => boolean {
  const compiled = new WeakMap<readonly string[], Lists>()

  return function isAllowed(address, blocks) {
    if (blocks.length === 0) return true
    const plain = unmapped(address?.replace(/%.*$/, '') ?? '')
    const family = isIP(plain)
    if (family !== 4 && family !== 6) return false
    const lists = compiled.get(blocks) ?? listsOf(blocks)
    compiled.set(blocks, lists)
    return lists[family].check(plain, familyName(family))
  }
}

/** A list per family: in one list, Node lets the IPv6 block ::/0 speak for every IPv4 address. */
function listsOf(blocks: readonly string[]): Lists {
  const lists: Lists = { 4: new BlockList(), 6: new BlockList() }
  for (const block of blocks) {
    const [given = '', length] = block.split('/')
    const plain = unmapped(given)
    const family = isIP(plain) === 4 ? 4 : 6
    const width = family === 4 ? 32 : 128
    const bits = length === undefined ? width : Number(length) - (plain === given ? 0 : mappedPrefixBits)
    // A block wider than all of the mapped addresses is a block of IPv6, which no mapped address is.
    if (bits < 0) lists[6].addSubnet(given, Number(length), 'ipv6')
    else lists[family].addSubnet(plain, bits, familyName(family))
  }
  return lists
}

const mappedPrefixBits = 96

const familyName = (family: 4 | 6) => (family === 4 ? 'ipv4' : 'ipv6')

function unmapped(address: string): string {
  if (isIP(address) !== 6) return address
  const canonical = new SocketAddress({ address, family: 'ipv6' }).address
  const inner = canonical.replace(/^::ffff:/i, '')
  return isIP(inner) === 4 ? inner : address
}
