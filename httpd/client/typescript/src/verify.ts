// Checks attestations for those who act on them: both signatures, the form, the issuer, the time, and that they are for
// this action under this policy. docs/verify.md says what a relying party has to check.
//
//   const keys = new Keys(bailiff, 'svc-core')
//   const claims = await keys.verify(attestation, { txCommit, policyHash: [hash] })
//   once.use(claims)

import { ed25519 } from '@noble/curves/ed25519.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { ml_dsa65 } from '@noble/post-quantum/ml-dsa.js'
import type { Bailiff } from './client.js'

/** Why an attestation is refused, as docs/verify.md names it. */
export type Reason =
  | 'too_large' | 'malformed' | 'header' | 'unknown_key' | 'signature' | 'payload' | 'pqc' | 'issuer' | 'audience' | 'lifetime'
  | 'not_yet_valid' | 'expired' | 'keys' | 'expected' | 'commitment' | 'policy' | 'chain' | 'observe' | 'used' | 'crowded'

/** An attestation that is not to be acted on. */
export class NotVerified extends Error {
  override readonly name = 'NotVerified'
  constructor(readonly reason: Reason, message: string, options?: { cause: unknown }) {
    super(`${reason}: ${message}`, options)
  }
}

export type Claims = {
  aud: string
  chainId?: number
  decision: string
  exp: number
  framework: string
  iat: number
  intent: {
    action: string
    amountBase?: string
    calldataHash?: string
    decimals?: number
    maxFeeBase?: string
    targetAddress?: string
    to?: string | string[]
    token?: string
  }
  intentHash: string
  iss: string
  jti: string
  keyId: string
  kind: 'evm' | 'tool' | 'mcp' | 'model'
  mode?: 'OBSERVE'
  policyHash: string
  sub: string
  txCommit?: string
  userOpHash?: string
}

/** What a relying party knows of the action that it is about to carry out. */
export type Expected = {
  /** This or userOpHash: of the action itself, computed by who carries it out. */
  txCommit?: string
  userOpHash?: string
  /** The policies that count; any takes whatever policy the service enforces for the key. */
  policyHash: readonly string[] | 'any'
  /** The chain that the action is on, if any. */
  chainId?: number
  /** Refuses what was allowed while the service observed. */
  refuseObserve?: boolean
}

const lifetime = 60
const clockSkew = 5
const maxTokenBytes = 8 << 10
const pqcContext = 'svc-pqc-attestation-v1'

/** The keys of one issuer. */
export class KeySets {
  readonly #ed25519 = new Map<string, Uint8Array>()
  readonly #mldsa = new Map<string, Uint8Array>()

  /** Reads the two key-set documents. Each must have keys of its own kind only, under their RFC 7638 thumbprints. */
  constructor(readonly issuer: string, jwks: unknown, pqcKeys: unknown) {
    for (const key of keysOf(jwks)) {
      const { kty, crv, alg, use, kid, x } = key
      if (kty !== 'OKP' || crv !== 'Ed25519' || alg !== 'EdDSA' || use !== 'sig' || !x) throw badKey(kid)
      list(this.#ed25519, kid, `{"crv":"Ed25519","kty":"OKP","x":"${x}"}`, decode(x), 32)
    }
    for (const key of keysOf(pqcKeys)) {
      const { kty, alg, use, ctx, kid, pub } = key
      if (kty !== 'AKP' || alg !== 'ML-DSA-65' || use !== 'sig' || ctx !== pqcContext || !pub) throw badKey(kid)
      list(this.#mldsa, kid, `{"alg":"ML-DSA-65","kty":"AKP","pub":"${pub}"}`, decode(pub), 1952)
    }
  }

  /** Checks an attestation at a time in Unix seconds, and returns its claims. */
  verify(token: string, now: number): Claims {
    if (token.length >= maxTokenBytes) throw new NotVerified('too_large', `${token.length} bytes`)
    const parts = token.split('.')
    const [head, body, signed] = parts.map(decode)
    if (parts.length !== 3 || !head || !body || !signed) throw new NotVerified('malformed', 'it is not three parts of canonical base64url')
    const kid = /^\{"alg":"EdDSA","kid":"([\w-]+)"\}$/.exec(text(head) ?? '')?.[1]
    if (kid === undefined || !decode(kid)) throw new NotVerified('header', 'it is not exactly alg and kid')
    const key = this.#ed25519.get(kid)
    if (!key) throw new NotVerified('unknown_key', kid)
    if (!verifyEd25519(signed, `${parts[0]}.${parts[1]}`, key)) throw new NotVerified('signature', 'the Ed25519 signature does not verify')
    const { pqc, ...claims } = readPayload(body)
    this.#verifyPQC(pqc, claims)
    if (claims.iss !== this.issuer) throw new NotVerified('issuer', `iss is not ${this.issuer}`)
    if (claims.aud !== 'svc') throw new NotVerified('audience', 'aud is not svc')
    const fault = faultOf(claims)
    if (fault) throw new NotVerified('payload', fault)
    const read = claims as Claims
    if (read.exp !== read.iat + lifetime) throw new NotVerified('lifetime', `exp is not iat + ${lifetime}`)
    if (now + clockSkew < read.iat) throw new NotVerified('not_yet_valid', `iat is ${read.iat}`)
    if (now >= read.exp) throw new NotVerified('expired', `exp was ${read.exp}; ask for a new authorization`)
    return read
  }

  #verifyPQC(pqc: Record<string, string>, claims: object): void {
    const key = this.#mldsa.get(pqc.kid ?? '')
    const signature = decode(pqc.sig ?? '')
    if (!key || signature?.length !== 3309) throw new NotVerified('pqc', 'its key is unknown, or its signature malformed')
    const options = { context: new TextEncoder().encode(pqcContext) }
    if (!ml_dsa65.verify(signature, new TextEncoder().encode(canonical(claims)), key, options)) {
      throw new NotVerified('pqc', 'the ML-DSA-65 signature does not verify')
    }
  }
}

type Key = Record<string, string | undefined> & { kid: string }

function keysOf(document: unknown): Key[] {
  const { keys } = (document ?? {}) as { keys?: Key[] }
  if (!Array.isArray(keys) || keys.length === 0) throw new Error('the key set has no keys')
  return keys
}

function badKey(kid: string): Error {
  return new Error(`the key set has a key of another kind: ${kid}`)
}

function list(keys: Map<string, Uint8Array>, kid: string, members: string, key: Uint8Array | undefined, length: number): void {
  const thumbprint = encode(sha256(new TextEncoder().encode(members)))
  if (key?.length !== length || kid !== thumbprint || keys.has(kid)) {
    throw new Error(`the key set has a key whose kid is not its thumbprint, or twice: ${kid}`)
  }
  keys.set(kid, key)
}

function verifyEd25519(signature: Uint8Array, message: string, key: Uint8Array): boolean {
  try {
    return ed25519.verify(signature, new TextEncoder().encode(message), key, { zip215: false })
  } catch {
    return false // of another length
  }
}

/** Reads a payload whose Ed25519 signature is good. Its bytes must be the canonical form of what they say. */
function readPayload(body: Uint8Array): Record<string, unknown> & { pqc: Record<string, string> } {
  const spelled = text(body)
  let payload: Record<string, unknown> | null
  try {
    payload = JSON.parse(spelled ?? '')
  } catch (cause) {
    throw new NotVerified('payload', 'it is not JSON', { cause })
  }
  const pqc = payload?.pqc as Record<string, unknown> | undefined
  if (!pqc || pqc.alg !== 'ML-DSA-65' || pqc.ctx !== pqcContext || typeof pqc.kid !== 'string' || typeof pqc.sig !== 'string' || !decode(pqc.sig)) {
    throw new NotVerified('pqc', 'pqc is missing, or names another algorithm or context')
  }
  if (Object.keys(pqc).length !== 4 || canonical(payload) !== spelled) throw new NotVerified('payload', 'it is not the canonical form of the claims')
  const { pqc: _, ...claims } = payload as Record<string, unknown>
  const fault = memberFault(claims, claimForms)
  if (fault) throw new NotVerified('payload', fault)
  return payload as Record<string, unknown> & { pqc: Record<string, string> }
}

const hex = /^[0-9a-f]{64}$/
const prefixed = /^0x[0-9a-f]{64}$/
const address = /^0x[0-9a-f]{40}$/
const isText = (value: unknown) => typeof value === 'string' && value !== ''
const upTo = (most: number) => (value: unknown) => isText(value) && [...(value as string)].length <= most
const matches = (form: RegExp) => (value: unknown) => typeof value === 'string' && form.test(value)
const isAmount = (value: unknown) => matches(/^(0|[1-9]\d{0,77})$/)(value) && BigInt(value as string) < 2n ** 256n
const within = (least: number, most: number) => (value: unknown) => Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most

/** The claims: their checks, and which are optional. */
const claimForms: Record<string, [check: (value: unknown) => boolean, optional?: true]> = {
  aud: [isText], chainId: [within(1, Number.MAX_SAFE_INTEGER), true], decision: [(value) => value === 'ALLOWED'],
  exp: [within(1, Number.MAX_SAFE_INTEGER)], framework: [upTo(64)], iat: [within(1, Number.MAX_SAFE_INTEGER - lifetime)],
  intent: [(value) => typeof value === 'object' && value !== null && !Array.isArray(value)], intentHash: [matches(hex)], iss: [isText],
  jti: [(value) => typeof value === 'string' && decode(value)?.length === 16 && /[^A]/.test(value)], keyId: [isText],
  kind: [matches(/^(evm|tool|mcp|model)$/)], mode: [(value) => value === 'OBSERVE', true], policyHash: [matches(hex)], sub: [upTo(256)],
  txCommit: [matches(hex), true], userOpHash: [matches(prefixed), true],
}

const intentForms: typeof claimForms = {
  action: [matches(/^[ -~]{1,128}$/)], amountBase: [isAmount, true], calldataHash: [matches(hex), true], decimals: [within(0, 36), true],
  maxFeeBase: [isAmount, true], targetAddress: [matches(address), true],
  to: [(value) => isText(value) || (Array.isArray(value) && value.length > 0 && value.every(isText)), true], token: [isText, true],
}

/** The first rule that claims break which are well-formed each for itself. */
function faultOf(claims: Record<string, unknown>): string | undefined {
  const { kind, txCommit, userOpHash, chainId } = claims
  const intent = claims.intent as Record<string, unknown>
  const inside = memberFault(intent, intentForms)
  if (inside) return `intent.${inside}`
  if ((txCommit === undefined) === (userOpHash === undefined)) return 'exactly one of txCommit and userOpHash is needed'
  if (kind !== 'evm') return userOpHash !== undefined || Object.keys(intent).length > 1 ? `it is of kind ${kind} and says more` : undefined
  return chainId === undefined || intent.amountBase === undefined ? 'chainId or intent.amountBase is missing' : undefined
}

function memberFault(value: Record<string, unknown>, forms: typeof claimForms): string | undefined {
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(forms, name))
  if (unknown !== undefined) return `${unknown} is unknown`
  for (const [name, [check, optional]] of Object.entries(forms)) {
    if (value[name] === undefined ? !optional : !check(value[name])) return `${name} is missing or malformed`
  }
  return undefined
}

/** RFC 8785. JSON.stringify writes strings and numbers as it demands; sort orders names by UTF-16 code units. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`
}

/** The text of UTF-8, undefined where it is none. */
function text(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** Unpadded base64url, in its one spelling; undefined for anything else. */
function decode(part: string): Uint8Array | undefined {
  if (!/^[\w-]*$/.test(part) || part.length % 4 === 1) return undefined
  const bytes = Uint8Array.from(atob(part.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
  return encode(bytes) === part ? bytes : undefined
}

function encode(bytes: Uint8Array): string {
  let out = ''
  for (let i = 0; i < bytes.length; i += 3) {
    const [a = 0, b = 0, c = 0] = bytes.subarray(i, i + 3)
    const word = (a << 16) | (b << 8) | c
    const quad = [word >> 18, (word >> 12) & 63, (word >> 6) & 63, word & 63].map((n) => letters[n]).join('')
    out += quad.slice(0, bytes.length - i + 1)
  }
  return out
}

const fresh = 300
const stale = 3_600
const pause = 10

/**
 * Fetches the key sets of one service, and verifies with them. They are fetched again after 5 minutes, and where a key is
 * unknown, at most every 10 seconds; where that fails they are used for an hour, and then nothing is verified any more.
 */
export class Keys {
  #kept: KeySets | undefined
  #fetched = -Infinity
  #tried = -Infinity
  #fetching: Promise<void> | undefined

  /** Issuer and service are trusted as a pair. */
  constructor(readonly service: Bailiff, readonly issuer: string, readonly clock: () => number = () => Date.now() / 1_000) {
    if (!issuer) throw new TypeError('the issuer to trust is empty; its name is in /.well-known/svc-conformance.json')
  }

  /** Checks an attestation, and returns its claims. Whether it was used before is for a Once to find out. */
  async verify(token: string, expected: Expected): Promise<Claims> {
    if ((expected.txCommit === undefined) === (expected.userOpHash === undefined)) {
      throw new NotVerified('expected', 'give txCommit or userOpHash, of the action that is carried out')
    }
    if (expected.policyHash !== 'any' && !expected.policyHash?.length) throw new NotVerified('expected', 'give policyHash, or any')
    const claims = await this.#verifyByKeys(token)
    if (claims.txCommit !== expected.txCommit || claims.userOpHash !== expected.userOpHash) {
      throw new NotVerified('commitment', 'it is for another action')
    }
    if (expected.policyHash !== 'any' && !expected.policyHash.includes(claims.policyHash)) throw new NotVerified('policy', claims.policyHash)
    if (claims.chainId !== expected.chainId) throw new NotVerified('chain', `it is for chain ${claims.chainId}`)
    if (expected.refuseObserve && claims.mode !== undefined) throw new NotVerified('observe', 'it was given while observing')
    return claims
  }

  async #verifyByKeys(token: string): Promise<Claims> {
    const keys = await this.#keys(false)
    try {
      return keys.verify(token, this.clock())
    } catch (error) {
      const newKeys = error instanceof NotVerified && (error.reason === 'unknown_key' || error.reason === 'pqc')
      const newer = newKeys ? await this.#keys(true).catch(() => keys) : keys
      if (newer === keys) throw error
      return newer.verify(token, this.clock())
    }
  }

  async #keys(anew: boolean): Promise<KeySets> {
    if (!anew && this.#kept && this.#within(this.#fetched, fresh)) return this.#kept
    let cause: unknown
    if (this.#fetching || !this.#within(this.#tried, pause)) {
      this.#fetching ??= this.#fetch().finally(() => { this.#fetching = undefined })
      await this.#fetching.catch((error: unknown) => { cause = error })
    }
    if (this.#kept && this.#within(this.#fetched, stale)) return this.#kept
    throw new NotVerified('keys', 'the key sets of the service can\'t be had', { cause })
  }

  #within(then: number, long: number): boolean {
    const age = this.clock() - then
    return age >= 0 && age < long
  }

  async #fetch(): Promise<void> {
    this.#tried = this.clock()
    const read = async (path: string) => JSON.parse(text(await this.service.document(path)) ?? '')
    this.#kept = new KeySets(this.issuer, await read('/.well-known/jwks.json'), await read('/.well-known/svc-pqc-keys.json'))
    this.#fetched = this.#tried
  }
}

const maxRemembered = 1_000_000

/** Remembers which attestations were used, in the memory of this program. Use one before the action. */
export class Once {
  readonly #used = new Map<string, number>()
  #next = 0

  constructor(readonly clock: () => number = () => Date.now() / 1_000) {}

  use(claims: Claims): void {
    const now = this.clock()
    if (now >= claims.exp) throw new NotVerified('expired', `exp was ${claims.exp}`)
    if (this.#used.has(claims.jti)) throw new NotVerified('used', claims.jti)
    if (now >= this.#next) {
      this.#next = now + lifetime
      for (const [jti, exp] of this.#used) if (now >= exp + lifetime) this.#used.delete(jti)
    }
    if (this.#used.size >= maxRemembered) throw new NotVerified('crowded', 'too many attestations are remembered')
    this.#used.set(claims.jti, claims.exp)
  }
}
