import { createServer } from 'node:http'

const port = Number(process.argv[process.argv.indexOf('--port') + 1])
createServer((_request, response) => response.end('{}')).listen(port, '127.0.0.1')
