import { posix } from 'node:path'
import type { Rule, SourceFile } from './source.ts'

const links = /\]\((?!https?:|mailto:|#)([^)#\s]+)[^)]*\)/g
const quotedPaths = /`((?:schemas|shared|services|infra|test)\/[\w./-]*)`/g
const startedFiles = /\b(?:node|python3) ((?:services|infra|test)\/[\w./-]+)/g
const scripts = /\bnpm run (?:--silent |-s )?([\w:-]+)/g

/** `npm run gen` deletes these folders when they are empty. */
const isGeneratedFolder = (path: string): boolean => /^schemas\/generated\/[\w-]+\/?$/.test(path)

const isDocument = ({ path }: SourceFile): boolean => path.endsWith('.md')

const matches = (text: string, pattern: RegExp): readonly string[] =>
  [...text.matchAll(pattern)].map(([, found = '']) => found)

function scriptsOf(files: readonly SourceFile[]): readonly string[] {
  const { scripts: known = {} } = JSON.parse(files.find(({ path }) => path === 'package.json')?.text ?? '{}')
  return Object.keys(known)
}

/** Checks relative links, repository paths in backquotes, files that a command starts, and npm scripts. */
export const documentReferencesExist: Rule = (files) => {
  const paths = new Set(
    files.flatMap(({ path }) => path.split('/').map((_, depth, parts) => parts.slice(0, depth + 1).join('/'))),
  )
  const known = scriptsOf(files)
  return files.filter(isDocument).flatMap(({ path, text }) => [
    ...[
      ...matches(text, links).map((to) => posix.join(posix.dirname(path), to)),
      ...matches(text, quotedPaths).filter((to) => !isGeneratedFolder(to)),
      ...matches(text, startedFiles),
    ]
      .map((to) => to.replace(/\/$/, ''))
      .filter((to) => !paths.has(to))
      .map((to) => `${path} refers to ${to}, which does not exist.`),
    ...matches(text, scripts)
      .filter((name) => !known.includes(name))
      .map((name) => `${path} refers to the npm script ${name}, which does not exist.`),
  ])
}

const adrSections = ['Context', 'Decision', 'Consequences', 'Rejected options']
const maxAdrLines = 24

const adrNumber = (path: string): number => Number(posix.basename(path).slice(0, 4))

export const adrsFollowTheTemplate: Rule = (files) => {
  const adrs = files.filter(({ path }) => path.startsWith('infra/docs/adr/'))
  return adrs.flatMap(({ path, text }, index) => {
    const lines = text.trimEnd().split('\n').length
    const number = adrNumber(path)
    const isTaken = adrs.slice(0, index).some((other) => adrNumber(other.path) === number)
    return [
      ...(isTaken ? [`${path} has the number of another ADR.`] : []),
      ...(lines > maxAdrLines ? [`${path} has ${lines} lines; the limit is ${maxAdrLines}.`] : []),
      ...(text.startsWith(`# ${number}. `) ? [] : [`${path} does not begin with "# ${number}. ".`]),
      ...(matches(text, /^## (.*)$/gm).join() === adrSections.join()
        ? []
        : [`${path} does not have the sections ${adrSections.join(', ')}.`]),
    ]
  })
}
