import { posix } from 'node:path'
import { isCode, isNode, type Node, nodesIn, type Rule, type SourceFile, syntaxOf } from './source.ts'

const longest = 300

/** A file longer than a reader keeps in mind is split where its subjects part. */
export const filesStayShort: Rule = (files) =>
  files.filter(isCode).flatMap(({ path, text }) => {
    const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
    return lines > longest ? [`${path} has ${lines} lines; ${longest} are the most.`] : []
  })

const topLevel = new Set([
  ...['schemas', 'shared', 'services', 'infra', 'test'],
  ...['package.json', 'package-lock.json', 'tsconfig.json', 'README.md'],
])

/** The top of the repository is a table of contents: the folders, four files and dotfiles. */
export const topLevelIsAsLaidOut: Rule = (files) =>
  [...new Set(files.map(({ path }) => path.split('/', 1).join('')))]
    .filter((entry) => !topLevel.has(entry) && !entry.startsWith('.'))
    .map((entry) => `${entry} does not belong at the top; see the folder map in README.md.`)

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

/** Names say what a thing is: no manager, helper, util, batch job, nor a class that is only a "service". */
export const namesSayWhatTheyMean: Rule = (files) =>
  files.filter(isCode).flatMap((file) => [
    ...(file.path.split('/').some(isVague) ? [`${file.path} is named after nothing in particular.`] : []),
    ...exportedNames(syntaxOf(file))
      .filter(isVague)
      .map((name) => `${file.path} exports ${name}, a name that says nothing in particular.`),
    ...serviceClasses(syntaxOf(file)).map(
      (name) => `${file.path} has the class ${name}; use functions that say what they do.`,
    ),
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

/** Ports are types, apart from the tuples that unions of words are derived from. */
export const portsAreTypes: Rule = (files) =>
  files
    .filter(({ path }) => path.startsWith('shared/ports/'))
    .flatMap((file) => {
      const { body } = syntaxOf(file)
      const statements = Array.isArray(body) ? body.filter(isNode) : []
      return statements.every(isTypeStatement) ? [] : [`${file.path} holds more than types and constant tuples.`]
    })

const fetchedFrom =
  /https?:\/\/[^\s"'`<>)]*(registry|npmjs|pypi|pythonhosted|repo1?\.maven|maven2|artifactory|nexus|goproxy|proxy\.golang)[^\s"'`<>)]*/i
const machinePath = /(^|[\s"'`=(:,])\/(work|home|root|Users)\/[A-Za-z0-9_.-]+/m
// The rules and their tests must name what they forbid.
const speaksOfIt = ({ path }: SourceFile): boolean => path.startsWith('test/architecture/')

/** The repository works on any machine: no address of a package registry, no path of one machine. */
export const nothingIsTiedToOneMachine: Rule = (files) =>
  files
    .filter((file) => !speaksOfIt(file))
    .flatMap(({ path, text }) => [
      ...(fetchedFrom.test(text) ? [`${path} names the address of a package registry.`] : []),
      ...(machinePath.test(text) ? [`${path} names a path of one machine.`] : []),
    ])

const links = /\]\((?!https?:|mailto:|#)([^)#\s]+)[^)]*\)/g
const codePaths = /`((?:schemas|shared|services|infra|test)\/[\w./-]+\.\w+)`/g

/** Texts name only what exists: every relative link, and every file that is named from the top of the repository. */
export const textsNameWhatExists: Rule = (files) => {
  const paths = new Set(
    files.flatMap(({ path }) => path.split('/').map((_, depth, parts) => parts.slice(0, depth + 1).join('/'))),
  )
  return files
    .filter(({ path }) => path.endsWith('.md'))
    .flatMap(({ path, text }) =>
      [
        ...[...text.matchAll(links)].map(([, to = '']) => posix.join(posix.dirname(path), to).replace(/\/$/, '')),
        ...[...text.matchAll(codePaths)].map(([, to = '']) => to),
      ]
        .filter((to) => !paths.has(to))
        .map((to) => `${path} names ${to}, which does not exist.`),
    )
}
