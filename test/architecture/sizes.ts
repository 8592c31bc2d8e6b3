import {
  isCode,
  isNode,
  linesOf,
  type Node,
  nodesIn,
  type Rule,
  rootName,
  type SourceFile,
  type Span,
  syntaxOf,
} from './source.ts'

const maxFileLines = 300
const maxFunctionLines = 60
const maxPortMethods = 3
const maxCommentLines = 3

export const filesStayShort: Rule = (files) =>
  files.filter(isCode).flatMap(({ path, text }) => {
    const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
    return lines > maxFileLines ? [`${path} has ${lines} lines; the limit is ${maxFileLines}.`] : []
  })

const isFunction = ({ type }: Node): boolean =>
  type === 'FunctionDeclaration' || type === 'FunctionExpression' || type === 'ArrowFunctionExpression'

const isDescribe = ({ type, callee }: Node): boolean => type === 'CallExpression' && rootName(callee) === 'describe'
const isTest = ({ type, callee }: Node): boolean => type === 'CallExpression' && /^(test|it)$/.test(rootName(callee))

function groupsTests(node: Node, all: readonly Node[]): boolean {
  if ([...nodesIn(node)].some((inner) => isDescribe(inner) || isTest(inner))) return true
  return all.some((call) => isDescribe(call) && Array.isArray(call.arguments) && call.arguments.includes(node))
}

/** Inner functions are checked too. Functions that only group tests may be longer. */
export const functionsStayShort: Rule = (files) =>
  files.filter(isCode).flatMap((file) => {
    const all = [...nodesIn(syntaxOf(file))]
    return all
      .filter(isFunction)
      .map((node) => ({ node, ...linesOf(file, node) }))
      .map(({ node, first, last }) => ({ node, first, lines: last - first + 1 }))
      .filter(({ node, lines }) => lines > maxFunctionLines && !groupsTests(node, all))
      .map(
        ({ first, lines }) =>
          `${file.path}:${first} has a function of ${lines} lines; the limit is ${maxFunctionLines}.`,
      )
  })

const membersOf = (node: unknown): readonly Node[] => {
  const members = isNode(node) ? (node.members ?? node.body) : null
  return Array.isArray(members) ? members.filter(isNode) : []
}

const isMethod = (member: Node): boolean => {
  if (member.type === 'TSMethodSignature') return true
  const annotation = isNode(member.typeAnnotation) ? member.typeAnnotation.typeAnnotation : null
  return member.type === 'TSPropertySignature' && isNode(annotation) && annotation.type === 'TSFunctionType'
}

/** Small ports: a caller should depend only on the methods that it calls. */
export const portsStaySmall: Rule = (files) =>
  files
    .filter(({ path }) => path.startsWith('shared/ports/'))
    .flatMap((file) =>
      [...nodesIn(syntaxOf(file))]
        .filter(({ type }) => type === 'TSTypeLiteral' || type === 'TSInterfaceBody')
        .map((node) => ({ ...linesOf(file, node), methods: membersOf(node).filter(isMethod).length }))
        .filter(({ methods }) => methods > maxPortMethods)
        .map(
          ({ first, methods }) =>
            `${file.path}:${first} has a port of ${methods} methods; the limit is ${maxPortMethods}.`,
        ),
    )

/** Strings, templates and regular expressions, in source order: `//` inside them does not begin a comment. */
const literalsOf = (program: Node): readonly Span[] =>
  [...nodesIn(program)]
    .filter(({ type, value }) => type === 'TemplateElement' || (type === 'Literal' && typeof value !== 'number'))
    .toSorted((a, b) => a.start - b.start)

/** Consecutive `//` lines count as one comment. */
function commentsOf(file: SourceFile): readonly Span[] {
  const { text } = file
  const literals = literalsOf(syntaxOf(file))
  const token = /\/\*[\s\S]*?\*\/|\/\/[^\n]*(?:\n[ \t]*\/\/[^\n]*)*/g
  const comments: Span[] = []
  let next = 0
  for (let found = token.exec(text); found !== null; found = token.exec(text)) {
    const { index } = found
    while (literals[next] && (literals[next]?.end ?? 0) <= index) next++
    const literal = literals[next]
    if (literal && literal.start <= index) token.lastIndex = literal.end
    else comments.push({ start: index, end: token.lastIndex })
  }
  return comments
}

/** The docstring of an exported declaration, or a description at the top of the file. */
const mayBeLong = (text: string, { start, end }: Span): boolean =>
  text.startsWith('/**', start) && (/^\s*(export|import)\b/.test(text.slice(end)) || text.slice(0, start).trim() === '')

const linesOfText = (comment: string): number =>
  comment.split('\n').filter(
    (line) =>
      line
        .replace(/^\s*(\/\*+|\*+\/|\*|\/\/)/, '')
        .replace('*/', '')
        .trim() !== '',
  ).length

export const commentsStayShort: Rule = (files) =>
  files.filter(isCode).flatMap((file) =>
    commentsOf(file)
      .filter((comment) => !mayBeLong(file.text, comment))
      .map((comment) => ({
        ...linesOf(file, comment),
        lines: linesOfText(file.text.slice(comment.start, comment.end)),
      }))
      .filter(({ lines }) => lines > maxCommentLines)
      .map(
        ({ first, lines }) => `${file.path}:${first} has a comment of ${lines} lines; the limit is ${maxCommentLines}.`,
      ),
  )
