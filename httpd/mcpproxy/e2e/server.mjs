// A small server of revision 2026-07-28. Its tools leave marks in a folder, by which a test sees which calls arrived.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { McpServer, fromJsonSchema } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

const marks = process.argv[2]
const inputSchema = fromJsonSchema({ type: 'object', properties: { text: { type: 'string' } }, required: ['text'] })

const shown = fromJsonSchema({ type: 'object', properties: { text: { type: 'string' }, place: { type: 'string' } }, required: ['text', 'place'] })
const base64 = (text) => Buffer.from(text).toString('base64')

// What the tool show answers, by the place in which the text is.
const places = {
  text: (text) => ({ content: [{ type: 'text', text }] }),
  resource: (text) => ({ content: [{ type: 'resource', resource: { uri: 'file:///x', text } }] }),
  blob: (text) => ({ content: [{ type: 'resource', resource: { uri: 'file:///x', blob: base64(text) } }] }),
  image: (text) => ({ content: [{ type: 'image', mimeType: 'image/png', data: base64(text) }] }),
  link: (text) => ({ content: [{ type: 'resource_link', uri: `file:///${encodeURI(text)}`, name: text }] }),
  structured: (text) => ({ content: [], structuredContent: { rows: [[text]] } }),
  name: (text) => ({ content: [], structuredContent: { [text]: 1 } }),
  error: (text) => ({ content: [{ type: 'text', text }], isError: true }),
  thrown: (text) => { throw new Error(text) },
}

serveStdio(() => {
  const server = new McpServer({ name: 'small', version: '1.0.0' }, { capabilities: { tools: {} } })
  for (const name of ['note', 'publish', 'erase']) {
    server.registerTool(name, { description: `leaves a mark as ${name}`, inputSchema }, async ({ text }) => {
      appendFileSync(join(marks, name), `${text}\n`)
      return { content: [{ type: 'text', text: `${name}: ${text}` }] }
    })
  }
  server.registerTool('show', { description: 'answers with a text in a place', inputSchema: shown }, async ({ text, place }) => places[place](text))
  return server
})
