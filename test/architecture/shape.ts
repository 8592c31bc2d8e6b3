import { isCode, isNode, type Node, nodesIn, type Rule, type SourceFile, syntaxOf } from './source.ts'

const topLevel = new Set([
  ...['schemas', 'shared', 'services', 'infra', 'test'],
  ...['package.json', 'package-lock.json', 'tsconfig.json', 'README.md'],
])

export const topLevelEntriesAreFixed: Rule = (files) =>
  [...new Set(files.map(({ path }) => path.split('/', 1).join('')))]
    .filter((entry) => !topLevel.has(entry) && !entry.startsWith('.'))
    .map((entry) => `${entry} must not be in the top folder; see the table of folders in README.md.`)

const vague = /(^|[^a-z])(managers?|helpers?|utils?|utilities|misc)([^a-z]|$)/
const kebab = (name: string): string => name.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase()
const isVague = (name: string): boolean => vague.test(kebab(name)) || /(^|-)batch-jobs?([^a-z]|$)/.test(kebab(name))

const nameOf = (node: unknown): string => (isNode(node) && typeof node.name === 'string' ? node.name : '')

function exportedNames(program: Node): readonly string[] {
  const statements = Array.isArray(program.body) ? program.body.filter(isNode) : []
  return statements.flatMap((statement) => {
    if (statement.type !== 'ExportNamedDeclaration') return []
    const { declaration } = statement
    if (!isNode(declaration)) {
      return Array.isArray(statement.specifiers)
        ? statement.specifiers.map((one) => nameOf(isNode(one) ? one.exported : null))
        : []
    }
    return Array.isArray(declaration.declarations)
      ? declaration.declarations.map((one) => nameOf(isNode(one) ? one.id : null))
      : [nameOf(declaration.id)]
  })
}

const serviceClasses = (program: Node): readonly string[] =>
  [...nodesIn(program)]
    .filter(({ type }) => type === 'ClassDeclaration' || type === 'ClassExpression')
    .map(({ id }) => nameOf(id))
    .filter((name) => name.endsWith('Service'))

export const namesAreSpecific: Rule = (files) =>
  files.filter(isCode).flatMap((file) => [
    ...(file.path.split('/').some(isVague) ? [`${file.path} has a vague name.`] : []),
    ...exportedNames(syntaxOf(file))
      .filter(isVague)
      .map((name) => `${file.path} exports ${name}, which is a vague name.`),
    ...serviceClasses(syntaxOf(file)).map((name) => `${file.path} has the class ${name}; use functions.`),
  ])

const isConstTuple = (declaration: Node): boolean =>
  declaration.type === 'VariableDeclaration' &&
  Array.isArray(declaration.declarations) &&
  declaration.declarations.every((one) => {
    const init = isNode(one) && isNode(one.init) ? one.init : null
    return init?.type === 'TSAsExpression' && isNode(init.expression) && init.expression.type === 'ArrayExpression'
  })

const isType = ({ type }: Node): boolean => type === 'TSInterfaceDeclaration' || type === 'TSTypeAliasDeclaration'

function isTypeStatement(statement: Node): boolean {
  if (statement.type === 'ImportDeclaration' || isType(statement)) return true
  if (statement.type !== 'ExportNamedDeclaration') return false
  if (!isNode(statement.declaration)) return statement.exportKind === 'type'
  return isType(statement.declaration) || isConstTuple(statement.declaration)
}

/** Constant tuples are allowed, because unions of literals derive from them. */
export const portsAreTypes: Rule = (files) =>
  files
    .filter(({ path }) => path.startsWith('shared/ports/'))
    .flatMap((file) => {
      const { body } = syntaxOf(file)
      const statements = Array.isArray(body) ? body.filter(isNode) : []
      return statements.every(isTypeStatement) ? [] : [`${file.path} must contain only types and constant tuples.`]
    })

const registryAddress =
  /https?:\/\/[^\s"'`<>)]*(registry|npmjs|pypi|pythonhosted|repo1?\.maven|maven2|artifactory|nexus|goproxy|proxy\.golang)[^\s"'`<>)]*/i
const machinePath = /(^|[\s"'`=(:,])\/(work|home|root|Users)\/[A-Za-z0-9_.-]+/m
// The cases of this rule contain forbidden text.
const isExempt = ({ path }: SourceFile): boolean => path.startsWith('test/architecture/')

export const noFileDependsOnOneMachine: Rule = (files) =>
  files
    .filter((file) => !isExempt(file))
    .flatMap(({ path, text }) => [
      ...(registryAddress.test(text) ? [`${path} contains the address of a package registry.`] : []),
      ...(machinePath.test(text) ? [`${path} contains an absolute path of one machine.`] : []),
    ])
