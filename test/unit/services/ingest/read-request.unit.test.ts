import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { decodeBody, requireJson } from '#services/ingest/read-request.ts'
import { ServiceError } from '#shared/errors/service-error.ts'

const mebibyte = 1024 * 1024
const spaces = (bytes: number) => gzipSync(Buffer.alloc(bytes, 0x20))

describe('requireJson', () => {
  it.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json\t;\tcharset="UTF-8"',
    'application/json;charset=utf8;profile=x',
  ])('accepts %s', (type) => {
    expect(() => requireJson({ 'content-type': type })).not.toThrow()
  })

  it.each([
    'text/json',
    'application/json5',
    'application/json charset=utf-8',
    'application/json; charset=utf-16',
    'application/json;charset="windows-1251"',
    'application/problem+json',
    '',
  ])('refuses "%s"', (type) => {
    expect(() => requireJson({ 'content-type': type })).toThrow(
      expect.objectContaining({ code: 'unsupported_media_type' }),
    )
  })

  it('accepts gzip in any case, and no other encoding', () => {
    const requireEncoding = (encoding: string) => () =>
      requireJson({ 'content-type': 'application/json', 'content-encoding': encoding })
    for (const encoding of ['gzip', 'GZIP', 'identity']) expect(requireEncoding(encoding)).not.toThrow()
    for (const encoding of ['br', 'deflate', 'gzip, gzip', '']) expect(requireEncoding(encoding), encoding).toThrow()
  })
})

const decoding = (encoding: string | undefined, limit: number) => ({ encoding, limit, reserve: () => {} })

describe('decodeBody', () => {
  it('decodes gzip of one or several members, and returns an uncompressed body unchanged', async () => {
    const wire = Buffer.concat([gzipSync('[{"phone":'), gzipSync('"1"}]')])
    expect(Buffer.from(await decodeBody(wire, decoding('GZip', mebibyte))).toString()).toBe('[{"phone":"1"}]')
    expect(await decodeBody(wire, decoding(undefined, 1))).toBe(wire)
  })

  it('inflates up to the limit and refuses one byte more', async () => {
    expect(await decodeBody(spaces(8 * mebibyte), decoding('gzip', 8 * mebibyte))).toHaveLength(8 * mebibyte)
    await expect(decodeBody(spaces(8 * mebibyte + 1), decoding('gzip', 8 * mebibyte))).rejects.toHaveProperty(
      'code',
      'payload_too_large',
    )
  })

  it('refuses a compression ratio that contacts do not reach, for any size limit', async () => {
    await expect(decodeBody(spaces(12 * mebibyte), decoding('gzip', 64 * mebibyte))).rejects.toHaveProperty(
      'code',
      'payload_too_large',
    )
    const contacts = Array.from({ length: 200_000 }, (_, i) => ({ phone: `+7999${i}`, tags: ['newsletter', 'moscow'] }))
    const body = Buffer.from(JSON.stringify(contacts))
    expect(body.byteLength).toBeGreaterThan(8 * mebibyte)
    expect(body.equals(await decodeBody(gzipSync(body), decoding('gzip', 64 * mebibyte)))).toBe(true)
  })

  const zipped = gzipSync('{"phone":"+79991234567"}')
  it.each([
    ['an empty body', Buffer.alloc(0)],
    ['JSON that is not gzip', Buffer.from('{"phone":"+79991234567"}')],
    ['half a gzip body', zipped.subarray(0, zipped.length / 2)],
    ['a wrong checksum', Buffer.from(zipped).fill(0, zipped.length - 8, zipped.length - 4)],
    ['bytes after the end', Buffer.concat([zipped, Buffer.from('tail')])],
  ])('refuses %s as invalid encoding', async (_what, wire) => {
    await expect(decodeBody(wire, decoding('gzip', mebibyte))).rejects.toHaveProperty('code', 'invalid_encoding')
  })

  it('reserves the inflated bytes before it inflates them, whatever length the gzip trailer declares', async () => {
    const reserved: number[] = []
    const options = { encoding: 'gzip', limit: 8 * mebibyte, reserve: (bytes: number) => reserved.push(bytes) }
    const honest = gzipSync(Buffer.alloc(mebibyte))
    await decodeBody(honest, options)
    expect(reserved.splice(0)).toEqual([mebibyte])
    const members = Buffer.concat([honest, gzipSync(Buffer.alloc(10))])
    expect(await decodeBody(members, options)).toHaveLength(mebibyte + 10)
    expect(reserved.splice(0)).toEqual([10, mebibyte])
    const refuse = () => {
      throw new ServiceError('service_unavailable')
    }
    await expect(decodeBody(honest, { ...options, reserve: refuse })).rejects.toHaveProperty(
      'code',
      'service_unavailable',
    )
  })
})
