import { type Edge, edgesOf, isCode, type Rule, type SourceFile } from './source.ts'

/**
 * The allowed imports of a layer, as path prefixes: `imports` except `except`, and `types` only with `import type`.
 * Without `packages`, a layer may use every package that `vendors` does not reserve for other folders.
 */
type Layer = {
  readonly at: string
  readonly imports: readonly string[]
  readonly except?: readonly string[]
  readonly types?: readonly string[]
  readonly packages?: readonly string[]
  readonly builtins?: false
}

const allShared = [
  'schemas/',
  'shared/domain/',
  'shared/ports/',
  'shared/runtime/',
  'shared/config/',
  'shared/errors/',
  'shared/observability/',
  'shared/http/',
  'shared/log-position/',
  'shared/read-model/',
]

/** A file belongs to the first layer whose `at` is a prefix of its path. `*` stands for one folder name. */
const layers: readonly Layer[] = [
  { at: 'schemas/', imports: ['schemas/'], packages: ['@sinclair/typebox'], builtins: false },
  {
    at: 'shared/domain/',
    imports: ['schemas/', 'shared/domain/'],
    packages: ['@sinclair/typebox', 'libphonenumber-js'],
    builtins: false,
  },
  {
    at: 'shared/ports/',
    imports: [],
    types: ['schemas/', 'shared/domain/', 'shared/ports/'],
    packages: [],
    builtins: false,
  },
  { at: 'shared/runtime/', imports: ['schemas/', 'shared/runtime/'] },
  { at: 'shared/config/', imports: ['schemas/', 'shared/config/', 'shared/runtime/'] },
  { at: 'shared/errors/', imports: ['schemas/', 'shared/errors/', 'shared/runtime/'] },
  { at: 'shared/observability/', imports: ['schemas/', 'shared/observability/', 'shared/runtime/'] },
  {
    at: 'shared/http/',
    imports: [
      'schemas/',
      'shared/http/',
      'shared/errors/',
      'shared/runtime/',
      'shared/observability/',
      'shared/ports/',
    ],
  },
  { at: 'shared/log-position/', imports: ['shared/ports/'], packages: [] },
  {
    at: 'shared/read-model/',
    imports: [
      'schemas/',
      'shared/read-model/',
      'shared/domain/',
      'shared/log-position/',
      'shared/ports/',
      'shared/runtime/',
    ],
    packages: [],
  },
  { at: 'shared/adapters/*/', imports: ['schemas/', 'shared/ports/', 'shared/runtime/', 'shared/adapters/*/'] },
  { at: 'shared/adapters/', imports: ['schemas/', 'shared/ports/', 'shared/runtime/'] },
  { at: 'services/dev/', imports: [...allShared, 'services/'] },
  { at: 'services/*/', imports: [...allShared, 'services/*/'] },
  { at: 'infra/bench/', imports: ['schemas/', 'shared/', 'services/dev/', 'infra/', 'test/support/'] },
  { at: 'infra/chaos/', imports: ['schemas/', 'shared/', 'infra/', 'test/support/'] },
  { at: 'infra/', imports: ['schemas/', 'shared/', 'services/dev/', 'infra/'] },
  { at: 'test/', imports: ['schemas/', 'shared/', 'services/', 'infra/', 'test/'], except: ['infra/bench/'] },
]

/** Replacing one of these packages must change only one folder of the program. */
const vendors: Readonly<Record<string, readonly string[]>> = {
  // Other teams copy the examples, so the examples cannot use our adapters.
  kafkajs: ['shared/adapters/kafka/', 'infra/examples/', 'test/'],
  mongodb: ['shared/adapters/mongo/', 'infra/backing-services/', 'test/'],
  undici: ['shared/adapters/http/', 'infra/ai-system/', 'infra/bench/', 'test/'],
  'libphonenumber-js': ['shared/domain/phone.ts', 'test/'],
}

const exceptions: readonly { readonly from: RegExp; readonly to: RegExp; readonly because: string }[] = [
  { from: /^services\/[^/]+\/compose\.ts$/, to: /^shared\/adapters\//, because: 'compose.ts wires the adapters' },
  {
    from: /^infra\/setup\/test\.mjs$/,
    to: /^test\/support\//,
    because: 'npm test starts Kafka and MongoDB once for all tiers',
  },
  {
    from: /^test\/unit\/infra\/bench\//,
    to: /^infra\/bench\//,
    because: 'these are the tests of the benchmarks',
  },
]

const pattern = (prefix: string): RegExp => new RegExp(`^${prefix.replaceAll('*', '([^/]+)')}`)

function within(prefixes: readonly string[], layer: Layer, from: string, to: string): boolean {
  const [, own = '*'] = pattern(layer.at).exec(from) ?? []
  return prefixes.some((prefix) => to.startsWith(prefix.replace('*', own)))
}

const layerOf = (path: string): Layer | undefined => layers.find(({ at }) => pattern(at).test(path))

function faultOf({ from, to, typeOnly }: Edge): string | null {
  const layer = layerOf(from)
  if (layer === undefined)
    return `${from} belongs to no layer; add its folder to the table in test/architecture/layers.ts.`
  if (to.is === 'file') return fileFault(from, layer, to.path, typeOnly)
  if (to.is === 'package') return packageFault(from, layer, to.name)
  return layer.builtins === false ? `${from} may not use ${to.name}: ${layer.at} is pure.` : null
}

function fileFault(from: string, layer: Layer, to: string, typeOnly: boolean): string | null {
  if (exceptions.some((one) => one.from.test(from) && one.to.test(to))) return null
  const excepted = within(layer.except ?? [], layer, from, to)
  if (!excepted && within(layer.imports, layer, from, to)) return null
  if (!within(layer.types ?? [], layer, from, to)) return `${from} may not import ${to}.`
  return typeOnly ? null : `${from} may import only types from ${to}.`
}

function packageFault(from: string, layer: Layer, name: string): string | null {
  if (layer.packages !== undefined && !layer.packages.includes(name)) return `${from} may not use the package ${name}.`
  const folders = vendors[name]
  if (folders === undefined || folders.some((folder) => from.startsWith(folder))) return null
  return `${from} may not use the package ${name}; only ${folders[0]} may use it.`
}

/** Type-only imports count. */
export const importsStayInLayers: Rule = (files) =>
  files.filter(isCode).flatMap((file) => edgesOf(file).flatMap((edge) => faultOf(edge) ?? []))

type Graph = ReadonlyMap<string, readonly string[]>

const graphOf = (files: readonly SourceFile[]): Graph =>
  new Map(
    files
      .filter(isCode)
      .map((file) => [file.path, edgesOf(file).flatMap(({ to }) => (to.is === 'file' ? [to.path] : []))]),
  )

/** Type-only imports count. Reports at least one cycle of each group of files that import each other. */
export const importsHaveNoCycles: Rule = (files) => {
  const graph = graphOf(files)
  const done = new Set<string>()
  const cycles: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path)
    if (start >= 0) cycles.push(`${[...trail.slice(start), path].join(' → ')} is a cycle.`)
    if (start >= 0 || done.has(path)) return
    for (const next of graph.get(path) ?? []) visit(next, [...trail, path])
    done.add(path)
  }
  for (const path of graph.keys()) visit(path, [])
  return cycles
}
