import { matchesGlob } from 'node:path'
import {
  edgesOf,
  isCode,
  isNode,
  type Node,
  nodesIn,
  type Rule,
  rootName,
  type SourceFile,
  syntaxOf,
} from './source.ts'

const isNamedAsTest = ({ path }: SourceFile): boolean => /\.(test|spec)\.[cm]?[jt]sx?$/.test(path)
const inTests = ({ path }: SourceFile): boolean => path.startsWith('test/')
const testFunctions = /^(test|it|describe|suite)$/

/** Ignores tests inside functions, because a test file may import and call the function. */
const declaresTests = (file: SourceFile): boolean => {
  const { body } = syntaxOf(file)
  return (Array.isArray(body) ? body.filter(isNode) : []).some(
    (statement) =>
      statement.type === 'ExpressionStatement' &&
      isNode(statement.expression) &&
      statement.expression.type === 'CallExpression' &&
      testFunctions.test(rootName(statement.expression.callee)),
  )
}

export const everyTestIsRun =
  (tiers: readonly string[]): Rule =>
  (files) => {
    const code = files.filter(isCode)
    const isRun = ({ path }: SourceFile) => tiers.some((tier) => matchesGlob(path, tier))
    const imported = new Set(
      code.filter(isRun).flatMap((file) => edgesOf(file).flatMap(({ to }) => (to.is === 'file' ? [to.path] : []))),
    )
    return [
      ...code
        .filter((file) => (isNamedAsTest(file) || (inTests(file) && declaresTests(file))) && !isRun(file))
        .map(
          ({ path }) =>
            `${path} is in no tier; name it *.unit.test.ts, *.int.test.ts, *.e2e.test.ts or *.cluster.test.ts below test/.`,
        ),
      ...code
        .filter(({ path }) => path.startsWith('test/contract/') && !imported.has(path))
        .filter((file) => !isRun(file) && [...nodesIn(syntaxOf(file))].some(isTestCall))
        .map(({ path }) => `${path} declares a shared suite that no test file imports.`),
    ]
  }

const isTestCall = (node: Node): boolean => node.type === 'CallExpression' && testFunctions.test(rootName(node.callee))

const forbiddenModifiers = /^(only|skip|todo|fails)$/
const forbiddenModifierIn = (node: Node): string | null => {
  if (node.type !== 'MemberExpression' || !testFunctions.test(rootName(node.object))) return null
  const name = isNode(node.property) ? String(node.property.name ?? node.property.value) : ''
  return forbiddenModifiers.test(name) ? name : null
}

export const noTestIsSkipped: Rule = (files) =>
  files
    .filter((file) => isCode(file) && inTests(file))
    .flatMap((file) =>
      [...nodesIn(syntaxOf(file))].flatMap((node) => {
        const name = forbiddenModifierIn(node)
        return name === null ? [] : [`${file.path} uses .${name}; every test must run and pass.`]
      }),
    )

const firstParameter = (executor: Node): string => {
  const [parameter] = Array.isArray(executor.params) ? executor.params : []
  return isNode(parameter) ? String(parameter.name ?? '') : ''
}

const callsTimer = (node: Node): boolean =>
  node.type === 'CallExpression' &&
  isNode(node.callee) &&
  [node.callee.name, isNode(node.callee.property) ? node.callee.property.name : null].includes('setTimeout')

const resolvesEmpty = (callback: Node, resolve: string): boolean =>
  (callback.type === 'Identifier' && callback.name === resolve) ||
  (/Function/.test(callback.type) &&
    [...nodesIn(callback)].some(
      (node) =>
        node.type === 'CallExpression' &&
        isNode(node.callee) &&
        node.callee.name === resolve &&
        Array.isArray(node.arguments) &&
        node.arguments.length === 0,
    ))

/** `new Promise((resolve) => setTimeout(resolve, …))`. A timer that rejects or resolves with a value is a deadline, not a sleep. */
const isSleep = (node: Node): boolean => {
  if (node.type !== 'NewExpression' || !isNode(node.callee) || node.callee.name !== 'Promise') return false
  const executor: unknown = Array.isArray(node.arguments) ? node.arguments[0] : null
  if (!isNode(executor)) return false
  const resolve = firstParameter(executor)
  return [...nodesIn(executor)].some((inner) => {
    const callback: unknown = callsTimer(inner) && Array.isArray(inner.arguments) ? inner.arguments[0] : null
    return isNode(callback) && resolvesEmpty(callback, resolve)
  })
}

const importsTimers = (file: SourceFile): boolean =>
  edgesOf(file).some(({ to }) => to.is === 'builtin' && to.name === 'node:timers/promises')
const blocks = ({ type, callee }: Node): boolean =>
  type === 'CallExpression' &&
  isNode(callee) &&
  rootName(callee) === 'Atomics' &&
  isNode(callee.property) &&
  callee.property.name === 'wait'

/** `eventually` waits between two attempts, and fixtures simulate slow programs. */
const mayWait = ({ path }: SourceFile): boolean => path === 'test/support/eventually.ts' || path.includes('/fixtures/')

export const testsDoNotSleep: Rule = (files) =>
  files
    .filter((file) => isCode(file) && inTests(file) && !mayWait(file))
    .filter((file) => importsTimers(file) || [...nodesIn(syntaxOf(file))].some((node) => isSleep(node) || blocks(node)))
    .map(({ path }) => `${path} sleeps; wait for a condition with eventually() from test/support/eventually.ts.`)

/** `eventually(() => expect(Date.now())…)` is a sleep. */
const waitsForTime = (node: Node): boolean =>
  node.type === 'CallExpression' &&
  rootName(node.callee) === 'eventually' &&
  [...nodesIn(node)].some(
    ({ type, callee }) =>
      type === 'CallExpression' &&
      isNode(callee) &&
      /^(Date|performance)$/.test(rootName(callee)) &&
      isNode(callee.property) &&
      callee.property.name === 'now',
  )

export const eventuallyDoesNotReadTheClock: Rule = (files) =>
  files
    .filter((file) => isCode(file) && inTests(file) && [...nodesIn(syntaxOf(file))].some(waitsForTime))
    .map(({ path }) => `${path} reads the clock in eventually(); wait for an observable condition instead.`)
