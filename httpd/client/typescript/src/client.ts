// Asks a Bailiff service for decisions, waits for holds, and submits writes through the gateways. It needs nothing but
// fetch. ./verify checks attestations, ./viem is a transport for viem.
//
//   const bailiff = new Bailiff({ url: 'https://bailiff.example', apiKey })
//   const decision = await bailiff.authorize({ framework: 'my-agent', agentId: 'a', txCommit, intent: { action: 'bash', command } })
//   if (decision.status !== 'ALLOWED') throw new Error(decision.message)
//
// What resolves is a decision of the service in its documented form. Everything else is thrown: Refused is a 4xx that is no
// decision; Unreachable is no connection, a timeout, a redirect, a 5xx, or an answer that is malformed or too large.
// Redirects are not followed. A request is sent a second time only where that cannot count twice.

import type { Decision, Hold, Intent } from './types.js'

export type * from './types.js'

export type Config = {
  /** http:// or https:// and a host, or unix: and the path of a socket (Node only). */
  url: string
  /** Without one only gateways and public documents can be asked. */
  apiKey?: string
  /** Bounds a call with its retries, in milliseconds; what it waits for a hold comes on top. Default 10,000. */
  timeout?: number
  /** Bounds an answer, in bytes. Default 1 MiB. */
  maxAnswer?: number
}

/** A 4xx that decides nothing. */
export class Refused extends Error {
  override readonly name = 'Refused'
  constructor(
    readonly status: number,
    /** Such as SVC_API_KEY_INVALID; empty where the answer has none. */
    readonly code: string,
    message: string,
    /** The faults of a request's body. */
    readonly details: unknown,
    /** Seconds to wait before the request is sent again. */
    readonly retryAfter: number | undefined,
    /** What the body says of its status, such as DENIED or UNAUTHORIZED. */
    readonly said: string,
  ) {
    super(message || `the service answered ${status}`)
  }
}

/** No answer of the service that could be used: whether it decided is unknown. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
  constructor(
    message: string,
    /** Of HTTP; 0 where no answer came, or none that could be read. */
    readonly status: number,
    readonly code = '',
    readonly said = '',
    readonly retryAfter?: number,
    options?: { cause: unknown },
  ) {
    super(`no usable answer from the service: ${message}`, options)
  }
}

/** The error of a gateway, or of the node behind it. */
export class RPCError extends Error {
  override readonly name = 'RPCError'
  constructor(readonly code: number, message: string, readonly data: unknown) {
    super(message)
  }
}

/** What is sent. */
export type Sent = { method: string; path: string; headers: Record<string, string>; body?: string }

/** What came back. */
export type Raw = { status: number; field: (name: string) => string | undefined; body: Uint8Array }

const retryPause = 100
const pollPause = 1_000
const longestPoll = 30
const mostLost = 3

export class Bailiff {
  readonly #base: string
  readonly #socket: string | undefined
  readonly #key: string | undefined
  readonly #timeout: number
  readonly #maxAnswer: number

  constructor(config: Config) {
    const [base, socket] = readAddress(config.url)
    if (config.apiKey !== undefined && !/^[!-~]{1,4096}$/.test(config.apiKey)) {
      throw new TypeError('the API key has characters that no API key has; give it without spaces and line ends')
    }
    this.#base = base
    this.#socket = socket
    this.#key = config.apiKey
    this.#timeout = config.timeout ?? 10_000
    this.#maxAnswer = config.maxAnswer ?? 1 << 20
  }

  /** Asks for a decision; a denial is one. With request_nonce it is sent a second time where no answer came. */
  authorize(request: Intent): Promise<Decision> {
    return this.#decide('/v1/authorize', request, false)
  }

  /** Asks what would be decided. Nothing changes, and nothing is attested. */
  testRun(request: Intent): Promise<Decision> {
    return this.#decide('/v1/authorize/test-run', request, true)
  }

  /** Reads a hold; the service answers within so many seconds (30 at most), and at once where it is resolved. */
  async hold(id: string, wait = 0): Promise<Hold> {
    const seconds = Math.min(Math.floor(wait), longestPoll)
    const path = `/v1/holds/${encodeURIComponent(id)}${seconds > 0 ? `?wait=${seconds}` : ''}`
    const raw = await this.send(this.#sent('GET', path), this.#timeout + 1_000 * seconds)
    const hold = readJSON(succeeded(raw)) as Partial<Hold> | null
    if (!hold || hold.holdId !== id || !['PENDING', 'ALLOWED', 'DENIED', 'EXPIRED'].includes(hold.status ?? '')) {
      throw malformed('it is not the hold that was asked for')
    }
    return hold as Hold
  }

  /**
   * Waits until a hold is resolved, at most so many milliseconds, and returns it as it is then; a pause in milliseconds is
   * between two looks. A hold that has expired is Refused with the status 404. An approval authorizes nothing by itself: send
   * the same request again.
   */
  async waitForHold(id: string, timeout: number, pause = pollPause): Promise<Hold> {
    const deadline = Date.now() + timeout
    for (let lost = 0; ; ) {
      let again = pause
      let outcome: () => Hold
      try {
        const hold = await this.hold(id, Math.max(0, (deadline - Date.now()) / 1_000))
        if (hold.status !== 'PENDING') return hold
        lost = 0
        outcome = () => hold
      } catch (error) {
        const limited = error instanceof Refused && error.status === 429
        if (!limited && !(error instanceof Unreachable && ++lost < mostLost)) throw error
        again = Math.max(pause, 1_000 * (error.retryAfter ?? 0))
        outcome = () => { throw error }
      }
      if (Date.now() + again >= deadline) return outcome()
      await sleep(again)
    }
  }

  /**
   * Sends a write with its attestation, once, and returns the result of the JSON-RPC response; without an attestation it
   * reads. What the gateway or the node refuses is an RPCError.
   */
  async submit(gateway: 'rpc' | 'bundler', chainId: number, attestation: string | undefined, method: string, params: unknown[]): Promise<unknown> {
    const headers: Record<string, string> = attestation === undefined ? {} : { 'svc-receipt': attestation }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const raw = await this.send({ method: 'POST', path: `/${gateway}/${chainId}`, headers: { ...headers, 'content-type': 'application/json' }, body })
    const answer = readJSON(succeeded(raw)) as { jsonrpc?: unknown; id?: unknown; result?: unknown; error?: { code: number; message: string; data?: unknown } } | null
    if (!answer || answer.jsonrpc !== '2.0' || answer.id !== 1) throw malformed('it is not the JSON-RPC response to the request')
    if (answer.error) throw new RPCError(answer.error.code, answer.error.message, answer.error.data)
    if (answer.result === undefined) throw malformed('it has neither a result nor an error')
    return answer.result
  }

  /** Fetches a public document. */
  async document(path: string): Promise<Uint8Array> {
    return succeeded(await this.send({ method: 'GET', path, headers: {} })).body
  }

  /** Sends a request once and reads its answer, whatever its status. */
  async send(sent: Sent, timeout = this.#timeout): Promise<Raw> {
    const signal = AbortSignal.timeout(timeout)
    try {
      if (this.#socket !== undefined) {
        const { sendOverSocket } = await import('./unix.js')
        return await sendOverSocket(this.#socket, sent, this.#maxAnswer, signal)
      }
      const { method, headers, body } = sent
      const response = await fetch(this.#base + sent.path, { method, headers, ...(body === undefined ? {} : { body }), redirect: 'manual', signal })
      return { status: response.status, field: (name) => response.headers.get(name) ?? undefined, body: await readBounded(response, this.#maxAnswer) }
    } catch (error) {
      throw new Unreachable(reasonOf(error), 0, '', '', undefined, { cause: error })
    }
  }

  #sent(method: string, path: string, body?: string): Sent {
    const headers: Record<string, string> = this.#key === undefined ? {} : { authorization: `Bearer ${this.#key}` }
    return body === undefined ? { method, path, headers } : { method, path, headers: { ...headers, 'content-type': 'application/json' }, body }
  }

  async #decide(path: string, request: Intent, testRun: boolean): Promise<Decision> {
    const sent = this.#sent('POST', path, JSON.stringify(request))
    const deadline = Date.now() + this.#timeout
    let raw: Raw
    try {
      raw = await this.send(sent)
    } catch (error) {
      if (!testRun && !request.request_nonce) throw error
      await sleep(retryPause)
      if (Date.now() >= deadline) throw error
      raw = await this.send(sent, deadline - Date.now())
    }
    const decision = readDecision(raw, testRun)
    if ((decision.request_nonce ?? '') !== (request.request_nonce ?? '')) throw malformed('it is for another nonce')
    return decision
  }
}

/** Reads the address of a service: where requests go, and the socket that they take, if any. */
function readAddress(url: string): [base: string, socket: string | undefined] {
  if (url.startsWith('unix:')) {
    const path = url.slice('unix:'.length).replace(/^\/\//, '')
    if (path.startsWith('/')) return ['http://localhost', path]
    throw new TypeError(`${url} is not unix: and an absolute path, such as unix:/run/bailiff.sock`)
  }
  const base = url.replace(/\/$/, '')
  const read = URL.canParse(base) ? new URL(base) : undefined
  if (!read || !/^https?:$/.test(read.protocol) || read.username || read.password || read.search || read.hash) {
    throw new TypeError(`${JSON.stringify(url)} is not the address of a service; give http:// or https:// and a host, or unix: and the path of a socket`)
  }
  return [base, undefined]
}

/** Reads a body up to a bound. */
async function readBounded(response: Response, most: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = response.body?.getReader()
  for (let part = await reader?.read(); reader && part && !part.done; part = await reader.read()) {
    size += part.value.length
    if (size > most) {
      await reader.cancel()
      throw new Error(`the answer has more than ${most} bytes`)
    }
    chunks.push(part.value)
  }
  return join(chunks, size)
}

/** The bytes of several chunks. */
export function join(chunks: Uint8Array[], size: number): Uint8Array {
  const all = new Uint8Array(size)
  chunks.reduce((at, chunk) => (all.set(chunk, at), at + chunk.length), 0)
  return all
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}

/** Reads the JSON of an answer. */
function readJSON(raw: Raw): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(raw.body))
  } catch (error) {
    throw malformed(reasonOf(error))
  }
}

/** Returns the answer that is a 2xx, and throws any other. */
function succeeded(raw: Raw): Raw {
  if (raw.status >= 200 && raw.status < 300) return raw
  let said: Record<string, unknown> = {}
  try {
    said = (readJSON(raw) ?? {}) as Record<string, unknown>
  } catch {
    // The status tells what JSON does not.
  }
  const text = (name: string) => (typeof said[name] === 'string' ? said[name] : '')
  const seconds = raw.field('retry-after') ?? ''
  const retryAfter = /^\d{1,9}$/.test(seconds) ? Number(seconds) : undefined
  if (raw.status < 400 || raw.status >= 500) {
    throw new Unreachable(`it answered ${raw.status} ${text('error_code')} ${text('message')}`.trimEnd(), raw.status, text('error_code'), text('status'), retryAfter)
  }
  throw new Refused(raw.status, text('error_code'), text('message'), said.errors ?? said.diagnostics, retryAfter, text('status'))
}

/** Reads a decision, and holds it to its form, so that a program that is not the service allows nothing. */
function readDecision(raw: Raw, testRun: boolean): Decision {
  if (raw.status === 403) {
    const denial = tryJSON(raw) as Partial<Decision> | null | undefined
    if (denial?.status === 'DENIED' && denial.policyHash) return denial as Decision
  }
  const decision = readJSON(succeeded(raw)) as Partial<Decision> | null
  const { status, policyHash, intent_attestation: attestation, holdId } = decision ?? {}
  const fault =
    status !== 'ALLOWED' && status !== 'PENDING' && !(status === 'DENIED' && testRun) ? `its status is ${JSON.stringify(status)}`
    : raw.status !== (status === 'PENDING' && !testRun ? 202 : 200) ? `it is ${status} with the HTTP status ${raw.status}`
    : !policyHash ? 'it has no policyHash'
    : (decision?.test_run ?? false) !== testRun ? 'it is not of the kind that was asked for'
    : (typeof attestation === 'string' && attestation !== '') !== (status === 'ALLOWED' && !testRun) ? 'its attestation does not fit its status'
    : status === 'PENDING' && !testRun && !holdId ? 'it is PENDING without a holdId'
    : undefined
  if (fault) throw malformed(fault)
  return decision as Decision
}

function tryJSON(raw: Raw): unknown {
  try {
    return readJSON(raw)
  } catch {
    return undefined
  }
}

function malformed(reason: string): Unreachable {
  return new Unreachable(`the answer is not one of the service: ${reason}`, 0)
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, milliseconds))
}
