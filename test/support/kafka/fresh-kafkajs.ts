import { createRequire } from 'node:module'

const load = createRequire(import.meta.url)
const protocol = 'kafkajs/src/protocol/'

/** kafkajs's modules as if nobody had loaded them before `patch`; `read` loads those wanted at once. */
export function freshKafkajs<T>(read: (load: NodeJS.Require) => T, patch = () => {}): T {
  for (const path of Object.keys(load.cache)) if (path.includes(`/${protocol}`)) delete load.cache[path]
  patch()
  return read(load)
}
