import { runAdmin } from './admin.ts'
import { composeAdmin } from './compose.ts'

const print = (line: string) => void process.stderr.write(`${line}\n`)
const { exitCode, json, message, help } = await runAdmin(process.argv.slice(2), composeAdmin(process.env, print))
if (help !== undefined) process.stdout.write(`${help}\n`)
if (json !== null) process.stdout.write(`${json}\n`)
if (message !== null) process.stderr.write(`${message}\n`)
process.exitCode = exitCode
