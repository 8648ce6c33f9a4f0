// A viem transport in front of which Bailiff stands. Reads go to the gateway as they are. A write is first described as
// an intent and authorized; the attestation that comes back is presented with the write itself. A program that uses
// viem changes one line:
//
//   transport: http('https://node.example')
//   transport: bailiff({ url: 'https://bailiff.example', apiKey, agentId: 'treasury' })
//
// A bundler client does the same with bailiffBundler. viem wraps what goes wrong in errors of its own; a client that is
// extended with bailiffErrors throws NotAuthorizedError itself:
//
//   const wallet = createWalletClient({ account, chain: base, transport }).extend(bailiffErrors)

import {
  BaseError,
  custom,
  decodeFunctionData,
  encodeFunctionData,
  formatEther,
  hexToBigInt,
  HttpRequestError,
  isAddressEqual,
  parseAbi,
  parseTransaction,
  RpcRequestError,
  sha256,
  slice,
  zeroAddress,
  type Address,
  type CustomTransport,
  type Hex,
} from 'viem'
import {
  getUserOperationHash,
  type EntryPointVersion,
  type UserOperation,
} from 'viem/account-abstraction'
import { Bailiff, Refused, RPCError, Unreachable } from './client.js'
import type * as api from './types.js'

export type BailiffConfig = {
  /** Where the service is: http:// or https:// and a host, or unix: and the path of a socket. */
  url: string
  apiKey: string
  agentId: string
  /** Default `viem`. */
  framework?: string
  /**
   * Token contracts whose transfers and approvals are declared as token intents, for the token rules of the policy.
   * Any other call, of these contracts or of others, is declared as contract.call with its call data.
   */
  tokens?: readonly Address[]
  /** What the policy wants to know of every write, such as `{ desk: 'desk-1' }`, or how to find that out. */
  metadata?: Metadata | ((intent: Intent) => Metadata)
  /** The agent's task, for policies that limit tasks. */
  taskId?: string
  /**
   * The most, in wei, that gas may cost, declared in place of what this write's may. An approval covers that fee and lower
   * ones, so that a transaction that is signed again with another fee needs no second approval. A write whose gas may cost
   * more is not even declared.
   */
  maxFee?: bigint
  /** Waits until a person has resolved a hold, and then sends the write. Without it a hold is thrown at once. */
  hold?: HoldOptions
  /** Is told of every write before it is submitted: what was authorized, by what, and the JSON-RPC body. */
  onWrite?: (write: { intent: unknown; attestation: string; body: string }) => void
}

export type Metadata = Record<string, unknown>

export type HoldOptions = {
  /** How long to wait in milliseconds; 24 hours, which is how long holds last, unless it is set. */
  timeout?: number
  /** How long to pause between looks, in milliseconds; default 1,000. A look lasts until the hold is resolved, 30 seconds at most. */
  pollingInterval?: number
  /** Is told of a hold before the wait for it begins. */
  onHold?: (hold: NotAuthorizedError) => void
}

/** A write that the policy denied or holds, or that the service would not authorize. It must not be sent again unchanged. */
export class NotAuthorizedError extends BaseError {
  constructor(
    /** DENIED, PENDING, or the status of an error. */
    readonly status: string,
    readonly errorCode: string,
    message: string,
    readonly matchedRule?: string,
    /** Of a PENDING: the hold that a person resolves. Afterwards the same write is sent again. */
    readonly holdId?: string,
  ) {
    super(`${status} ${errorCode}: ${message}`, { name: 'NotAuthorizedError' })
  }
}

/** Finds the NotAuthorizedError in what viem throws. */
export function notAuthorized(error: unknown): NotAuthorizedError | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof NotAuthorizedError) return cause
  }
  return undefined
}

/** An extension for clients: what they do throws NotAuthorizedError itself, in place of an error around it. */
export function bailiffErrors<client extends object>(client: client): {} {
  const unwrapped: Record<string, unknown> = {}
  for (const [name, action] of Object.entries(client)) {
    if (!/^(send|write|deploy)/.test(name) || typeof action !== 'function') continue
    unwrapped[name] = async (...args: unknown[]) => {
      try {
        return await action(...args)
      } catch (error) {
        throw notAuthorized(error) ?? error
      }
    }
  }
  return unwrapped
}

type Request = { method: string; params?: unknown }

/** What a write is declared as; metadata comes last. */
export type Intent = {
  action: string
  targetAddress: string
  amount: string
  amount_unit: 'base'
  maxFee: string
  task_id?: string
  token?: string
  to?: string
  calldata?: Hex
}

/** What a write does: its one call, and the most that its gas may cost. */
type Call = { to: Address; value: bigint; data: Hex; action: string; maxFee: bigint }

const tokenMethods = parseAbi([
  'function transfer(address to, uint256 amount) returns (bool)',
  'function transferFrom(address from, address to, uint256 amount) returns (bool)',
  'function approve(address spender, uint256 amount) returns (bool)',
  'function increaseAllowance(address spender, uint256 amount) returns (bool)',
])
const accountMethods = parseAbi(['function execute(address to, uint256 value, bytes data)'])

/** A transport for wallet and public clients, over POST /rpc/{chainId}. */
export function bailiff(config: BailiffConfig): CustomTransport {
  return transport(config, 'rpc', async (request, chainId) => {
    if (request.method !== 'eth_sendRawTransaction') return undefined
    const [raw] = request.params as [Hex]
    const { to, value = 0n, data = '0x', gas = 0n, gasPrice, maxFeePerGas } = parseTransaction(raw)
    if (!to) throw new Error('Bailiff submits no transaction that creates a contract')
    const action = data === '0x' ? 'wallet.transfer' : 'contract.call'
    const txCommit = sha256(raw).slice(2)
    return { txCommit, chainId, intent: describe(config, { to, value, data, action, maxFee: gas * (maxFeePerGas ?? gasPrice ?? 0n) }) }
  })
}

/** A transport for bundler clients, over POST /bundler/{chainId}. */
export function bailiffBundler(config: BailiffConfig): CustomTransport {
  return transport(config, 'bundler', async (request, chainId) => {
    if (request.method !== 'eth_sendUserOperation') return undefined
    const [operation, entryPointAddress] = request.params as [Record<string, Hex>, Address]
    const entryPointVersion = versionOf(entryPointAddress)
    const userOperation = readOperation(operation)
    const userOpHash = getUserOperationHash({ chainId, entryPointAddress, entryPointVersion, userOperation })
    const { args } = decodeFunctionData({ abi: accountMethods, data: operation.callData ?? '0x' })
    const [to, value, data] = args
    const call = { to, value, data, action: 'erc4337.userop', maxFee: prefund(operation, entryPointVersion) }
    return { userOpHash, chainId, intent: describe(config, call) }
  })
}

/** Describes a call as an intent, with the metadata that the policy wants. */
function describe(config: BailiffConfig, call: Call) {
  const intent = declare(config, call)
  const metadata = typeof config.metadata === 'function' ? config.metadata(intent) : config.metadata
  return metadata === undefined ? intent : { ...intent, metadata }
}

/** Declares what a call does. Amounts are in base units, so that nothing is rounded. */
function declare(config: BailiffConfig, call: Call): Intent {
  if (config.maxFee !== undefined && call.maxFee > config.maxFee) {
    throw new BaseError(`The gas of this write may cost ${formatEther(call.maxFee)} ETH, more than maxFee, ${formatEther(config.maxFee)} ETH.`)
  }
  const intent: Intent = {
    action: call.action,
    targetAddress: call.to.toLowerCase(),
    amount: call.value.toString(),
    amount_unit: 'base',
    maxFee: formatEther(config.maxFee ?? call.maxFee),
    ...(config.taskId === undefined ? {} : { task_id: config.taskId }),
  }
  const listed = config.tokens?.some((token) => isAddressEqual(token, call.to))
  const method = listed ? readTokenMethod(call.data) : undefined
  // Ether goes to the target itself, which lists of recipients want to hear.
  if (!method) return call.data === '0x' ? { ...intent, to: intent.targetAddress } : { ...intent, calldata: call.data }
  const { functionName, args } = method
  const [to, amount] = functionName === 'transferFrom' ? [args[1], args[2]] : args
  const approval = functionName === 'approve' || functionName === 'increaseAllowance'
  const action = call.action === 'erc4337.userop' ? call.action
    : approval ? 'token.approve' : 'wallet.transfer'
  return {
    ...intent,
    action,
    token: call.to.toLowerCase(),
    amount: amount.toString(),
    to: to.toLowerCase(),
    ...(approval && action === 'erc4337.userop' ? { calldata: call.data } : {}),
  }
}

/** Reads data that is exactly a token's everyday method, which is what the gateway takes for one. */
function readTokenMethod(data: Hex) {
  try {
    const method = decodeFunctionData({ abi: tokenMethods, data })
    return encodeFunctionData({ abi: tokenMethods, ...method }) === data ? method : undefined
  } catch {
    return undefined
  }
}

/** Reads a user operation as viem writes it to a bundler. */
function readOperation(operation: Record<string, unknown>): UserOperation {
  const { eip7702Auth, ...fields } = operation
  const quantity = /^(nonce|.*Gas(Limit)?|.*PerGas)$/
  const read: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) {
    read[name] = quantity.test(name) ? hexToBigInt(value as Hex) : value
  }
  if (eip7702Auth) read.authorization = eip7702Auth
  return read as UserOperation
}

/** The most that an operation's gas costs: what its entry point asks for before it makes the call. */
function prefund(operation: Record<string, Hex>, version: EntryPointVersion): bigint {
  const read = (name: string) => (operation[name] ? hexToBigInt(operation[name]) : 0n)
  const paymaster = slice(operation.paymasterAndData ?? '0x', 0, 20)
  const paid = version === '0.6' && paymaster !== '0x' && !isAddressEqual(paymaster, zeroAddress)
  const gas = read('callGasLimit') + read('preVerificationGas') + read('verificationGasLimit') * (paid ? 3n : 1n)
    + read('paymasterVerificationGasLimit') + read('paymasterPostOpGasLimit')
  return gas * read('maxFeePerGas')
}

function versionOf(entryPoint: Address): EntryPointVersion {
  const versions: Record<string, EntryPointVersion> = {
    '0x5ff137d4b0fdcd49dca30c7cf57e578a026d2789': '0.6',
    '0x0000000071727de22e5e9d8baf0edac6f37da032': '0.7',
    '0x4337084d9e255ff0702461cf8895ce9e3b5ff108': '0.8',
  }
  const version = versions[entryPoint.toLowerCase()]
  if (!version) throw new Error(`entry point ${entryPoint} is unknown`)
  return version
}

const writes = new Set(['eth_sendRawTransaction', 'eth_sendUserOperation'])

type Envelope = { chainId: number; intent: Intent & { metadata?: Metadata } } & ({ txCommit: string } | { userOpHash: string })

function transport(
  config: BailiffConfig,
  endpoint: 'rpc' | 'bundler',
  envelopeOf: (request: Request, chainId: number) => Promise<Envelope | undefined>,
): CustomTransport {
  const service = new Bailiff({ url: config.url, apiKey: config.apiKey, timeout: 30_000, maxAnswer: 64 << 20 })
  return (options) => {
    const request = async (request: Request) => {
      const chainId = options.chain?.id
      if (chainId === undefined) throw new Error('Bailiff has to know the chain; give the client one')
      const params = (request.params ?? []) as unknown[]
      const envelope = await envelopeOf(request, chainId)
      const attestation = envelope && (await authorize(config, service, envelope))
      if (envelope && attestation !== undefined) {
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: request.method, params })
        config.onWrite?.({ intent: envelope, attestation, body })
      }
      return submit(`${config.url}/${endpoint}/${chainId}`, () =>
        service.submit(endpoint, chainId, attestation, request.method, params), { method: request.method, params }, attestation !== undefined)
    }
    const inner = custom({ request }, { key: 'bailiff', name: 'Bailiff' })(options)
    return {
      ...inner,
      // A write is never tried twice: its attestation is good for one. Reads are retried as with any transport.
      request: (request, options) =>
        inner.request(request, writes.has(request.method) ? { ...options, retryCount: 0 } : options),
    }
  }
}

/** Asks for a decision, waits for a hold where that is wanted, and returns the attestation of an ALLOWED. */
async function authorize(config: BailiffConfig, service: Bailiff, envelope: Envelope): Promise<string> {
  const { hold } = config
  // The same bytes with the same nonce get the same ALLOWED again, and count once, so that asking again is safe.
  const request = { framework: config.framework ?? 'viem', agentId: config.agentId, request_nonce: crypto.randomUUID(), ...envelope }
  const deadline = Date.now() + (hold?.timeout ?? 86_400_000)
  let told: string | undefined
  for (;;) {
    const answer = await ask(service, request)
    if (typeof answer === 'string') return answer
    if (!hold || !answer.holdId || Date.now() >= deadline) throw answer
    if (answer.holdId !== told) hold.onHold?.(answer)
    told = answer.holdId
    if (!(await resolved(service, answer.holdId, deadline - Date.now(), hold.pollingInterval))) throw answer
  }
}

/** Asks once, and again where no answer comes or the service is not available. */
async function ask(service: Bailiff, request: api.Intent): Promise<string | NotAuthorizedError> {
  const answer = await tryAgain(() => service.authorize(request)).catch((error: unknown) => { throw refusal(error) ?? error })
  if (answer.status === 'ALLOWED' && answer.intent_attestation) return answer.intent_attestation
  const error = new NotAuthorizedError(answer.status, answer.error_code ?? '', answer.message, answer.matched_rule, answer.holdId)
  if (answer.status === 'PENDING') return error
  throw error
}

/** Tries three times, with pauses between, unless the service refuses. */
async function tryAgain<T>(attempt: () => Promise<T>): Promise<T> {
  for (const pause of [250, 1_000]) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error
      await new Promise((resume) => setTimeout(resume, pause))
    }
  }
  return attempt()
}

/** What the service said where it would not decide. */
function refusal(error: unknown): NotAuthorizedError | undefined {
  const said = error instanceof Refused || (error instanceof Unreachable && error.status >= 300)
  return said ? new NotAuthorizedError(error.said || 'ERROR', error.code || String(error.status), error.message) : undefined
}

const lookPause = 5_000

/** Waits until a hold is resolved, and reports whether it was in time. A hold that expires is not. */
async function resolved(service: Bailiff, holdId: string, timeout: number, pause?: number): Promise<boolean> {
  for (const deadline = Date.now() + timeout; ; ) {
    try {
      return (await service.waitForHold(holdId, deadline - Date.now(), pause)).status !== 'PENDING'
    } catch (error) {
      if (error instanceof Refused && (error.status === 404 || error.status === 429)) return false
      if (error instanceof Refused) throw refusal(error) ?? error
      if (Date.now() + lookPause >= deadline) return false
      await new Promise((resume) => setTimeout(resume, lookPause)) // not to be reached just now
    }
  }
}

/** Sends, and throws what viem knows. */
async function submit(url: string, send: () => Promise<unknown>, body: { method: string; params: unknown[] }, write: boolean): Promise<unknown> {
  try {
    return await send()
  } catch (error) {
    if (error instanceof RPCError) {
      const reason = (error.data as { reason?: string } | null | undefined)?.reason
      const { code, data } = error
      throw new RpcRequestError({ url, body, error: { code, data, message: reason ? `${error.message}: ${reason}` : error.message } })
    }
    if (write) throw refusal(error) ?? error
    if (error instanceof Refused || error instanceof Unreachable) {
      throw new HttpRequestError({ url, status: error.status || undefined, details: `${error.code}: ${error.message}` })
    }
    throw error
  }
}
