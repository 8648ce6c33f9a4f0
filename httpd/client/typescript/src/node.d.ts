// What src/unix.ts uses of Node, so that programs for browsers need no types of Node.
declare module 'node:http' {
  export interface IncomingMessage extends AsyncIterable<Uint8Array> {
    statusCode?: number
    headers: Record<string, string | string[] | undefined>
    destroy(): void
  }
  export interface ClientRequest {
    on(event: 'error', listener: (error: Error) => void): void
    end(body?: string): void
  }
  export function request(
    options: { socketPath: string; path: string; method: string; headers: Record<string, string | number>; signal: AbortSignal; agent: false },
    listener: (response: IncomingMessage) => void,
  ): ClientRequest
}
