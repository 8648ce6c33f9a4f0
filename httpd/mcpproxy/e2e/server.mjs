// A small server of revision 2026-07-28. Its tools leave marks in a folder, by which a test sees which calls arrived.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { McpServer, fromJsonSchema } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

const marks = process.argv[2]
const inputSchema = fromJsonSchema({ type: 'object', properties: { text: { type: 'string' } }, required: ['text'] })

serveStdio(() => {
  const server = new McpServer({ name: 'small', version: '1.0.0' }, { capabilities: { tools: {} } })
  for (const name of ['note', 'publish', 'erase']) {
    server.registerTool(name, { description: `leaves a mark as ${name}`, inputSchema }, async ({ text }) => {
      appendFileSync(join(marks, name), `${text}\n`)
      return { content: [{ type: 'text', text: `${name}: ${text}` }] }
    })
  }
  return server
})
