import { describe, expect, test } from 'vitest'
import { decodedPath, originForm } from '#shared/http/request-target.ts'

describe('request target', () => {
  test.each([
    ['/v1/x?a=http://b/c', '/v1/x?a=http://b/c'],
    ['http://host/v1/x?a=1', '/v1/x?a=1'],
    ['HTTPS://user@host:8443/v1', '/v1'],
    ['http://host', '/'],
    ['http://host?a', '/?a'],
    ['*', '*'],
    ['//host/x', '//host/x'],
    ['ftp://host/x', 'ftp://host/x'],
  ])('%s is routed as %s', (target, routed) => {
    expect(originForm(target)).toBe(routed)
  })

  test.each([
    ['/v1/contacts/%69mport?a=%62', '/v1/contacts/import'],
    ['/v1/%2f#x', '/v1/%2f'],
    ['/v1/%', '/v1/%'],
  ])('the path of %s is %s', (target, path) => {
    expect(decodedPath(target)).toBe(path)
  })
})
