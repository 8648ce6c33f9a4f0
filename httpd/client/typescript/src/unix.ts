// Requests over a Unix socket, which fetch can't make. Node only.

import { request } from 'node:http'
import { join, type Raw, type Sent } from './client.js'

/** Sends a request over a socket, and reads its answer up to a bound. */
export function sendOverSocket(socketPath: string, sent: Sent, maxAnswer: number, signal: AbortSignal): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const headers: Record<string, string | number> = { ...sent.headers, host: 'localhost' }
    if (sent.body !== undefined) headers['content-length'] = new TextEncoder().encode(sent.body).length
    const ask = request({ socketPath, path: sent.path, method: sent.method, headers, signal, agent: false }, async (response) => {
      try {
        const chunks: Uint8Array[] = []
        let size = 0
        for await (const chunk of response) {
          size += chunk.length
          if (size > maxAnswer) throw new Error(`the answer has more than ${maxAnswer} bytes`)
          chunks.push(chunk)
        }
        const field = (name: string) => {
          const value = response.headers[name]
          return typeof value === 'string' ? value : undefined
        }
        resolve({ status: response.statusCode ?? 0, field, body: join(chunks, size) })
      } catch (error) {
        response.destroy()
        reject(error)
      }
    })
    ask.on('error', reject)
    ask.end(sent.body)
  })
}

