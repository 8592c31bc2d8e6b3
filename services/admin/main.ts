import { runAdmin } from './admin.ts'
import { composeAdmin } from './compose.ts'

const print = (line: string) => void process.stderr.write(`${line}\n`)
const { exitCode, json, message } = await runAdmin(process.argv.slice(2), composeAdmin(process.env, print))
if (json !== null) process.stdout.write(`${json}\n`)
if (message !== null) process.stderr.write(`${message}\n`)
process.exitCode = exitCode
