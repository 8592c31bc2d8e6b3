import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { parseAst } from 'vitest/node'

/** `path` is relative to the root of the repository, with forward slashes. */
export type SourceFile = { readonly path: string; readonly text: string }

/** A rule takes all files and returns one sentence for each fault. The sentence begins with the path. */
export type Rule = (files: readonly SourceFile[]) => readonly string[]

/** A file imports another file, a module of Node.js or a package. */
export type Edge = {
  readonly from: string
  readonly typeOnly: boolean
  readonly to:
    | { readonly is: 'file'; readonly path: string }
    | { readonly is: 'builtin' | 'package'; readonly name: string }
}

export type Node = Span & { readonly type: string; readonly [member: string]: unknown }

/** Offsets in UTF-16 code units; `end` is exclusive. */
export type Span = { readonly start: number; readonly end: number }

export const isCode = ({ path }: SourceFile): boolean => /\.m?[jt]s$/.test(path)
export const isNode = (value: unknown): value is Node =>
  typeof value === 'object' &&
  value !== null &&
  'type' in value &&
  typeof value.type === 'string' &&
  'start' in value &&
  typeof value.start === 'number' &&
  'end' in value &&
  typeof value.end === 'number'

const parsed = new WeakMap<SourceFile, Node>()

/** ESTree, parsed by oxc through Vite, because TypeScript 7 has no programmatic parser. */
export function syntaxOf(file: SourceFile): Node {
  const known = parsed.get(file)
  if (known !== undefined) return known
  const program: unknown = parseAst(file.text, { lang: languageOf(file.path) })
  if (!isNode(program)) throw new Error(`${file.path} has no syntax tree.`)
  parsed.set(file, program)
  return program
}

function languageOf(path: string): 'js' | 'ts' | 'dts' {
  if (/js$/.test(path)) return 'js'
  return /\.d\.[cm]?ts$/.test(path) ? 'dts' : 'ts'
}

export function* nodesIn(node: Node): Generator<Node> {
  yield node
  for (const member of Object.values(node)) {
    for (const inner of Array.isArray(member) ? member : [member]) if (isNode(inner)) yield* nodesIn(inner)
  }
}

/** Line numbers start at 1. */
export function linesOf({ text }: SourceFile, { start, end }: Span) {
  const first = text.slice(0, start).split('\n').length
  return { first, last: first + text.slice(start, end).split('\n').length - 1 }
}

const literal = (node: unknown): string | null =>
  isNode(node) && node.type === 'Literal' && typeof node.value === 'string' ? node.value : null

const onlyTypes = (specifiers: unknown, kind: 'importKind' | 'exportKind'): boolean =>
  Array.isArray(specifiers) && specifiers.length > 0 && specifiers.every((one) => isNode(one) && one[kind] === 'type')

/** Returns `test` for `test`, `test.each` and `test.only.each(…)`. */
export function rootName(node: unknown): string {
  if (!isNode(node)) return ''
  if (node.type === 'Identifier') return String(node.name)
  return rootName(node.type === 'CallExpression' ? node.callee : node.object)
}

const isUrlOfFile = (node: Node): boolean =>
  node.type === 'NewExpression' && isNode(node.callee) && node.callee.name === 'URL' && Array.isArray(node.arguments)

function reference(node: Node): { specifier: string; typeOnly: boolean } | null {
  const found = (source: unknown, typeOnly: boolean) => {
    const specifier = literal(source)
    return specifier === null ? null : { specifier, typeOnly }
  }
  switch (node.type) {
    case 'ImportDeclaration':
      return found(node.source, node.importKind === 'type' || onlyTypes(node.specifiers, 'importKind'))
    case 'ExportNamedDeclaration':
      return found(node.source, node.exportKind === 'type' || onlyTypes(node.specifiers, 'exportKind'))
    case 'ExportAllDeclaration':
      return found(node.source, node.exportKind === 'type')
    case 'ImportExpression':
      return found(node.source, false)
    case 'TSImportType':
      return found(node.source ?? node.argument, true)
    default: {
      // `new URL('./worker.ts', import.meta.url)` is a dependency on the file of a worker thread.
      if (!isUrlOfFile(node)) return null
      const url = found(Array.isArray(node.arguments) ? node.arguments[0] : null, false)
      return url !== null && /^\.{1,2}\/.*\.m?[jt]s$/.test(url.specifier) ? url : null
    }
  }
}

function resolve(from: string, specifier: string): Edge['to'] {
  if (specifier.startsWith('.')) return { is: 'file', path: posix.join(posix.dirname(from), specifier) }
  if (specifier.startsWith('#')) return { is: 'file', path: specifier.slice(1) }
  if (specifier.startsWith('node:')) return { is: 'builtin', name: specifier }
  return { is: 'package', name: specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/') }
}

export const edgesOf = (file: SourceFile): readonly Edge[] =>
  [...nodesIn(syntaxOf(file))].flatMap((node) => {
    const found = reference(node)
    return found === null
      ? []
      : [{ from: file.path, typeOnly: found.typeOnly, to: resolve(file.path, found.specifier) }]
  })

/** Includes uncommitted files, but not files that Git ignores. */
export function repositoryFiles(root: string): readonly SourceFile[] {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  return [...new Set(listed.split('\0'))]
    .filter((path) => path !== '' && existsSync(join(root, path)))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}
