// A viem transport in front of which Bailiff stands. Reads go to the gateway as they are. A write is first described as
// an intent and authorized; the attestation that comes back is presented with the write itself. A program that uses
// viem changes one line:
//
//   transport: http('https://node.example')
//   transport: bailiff({ url: 'https://bailiff.example', apiKey, agentId: 'treasury' })
//
// A bundler client does the same with bailiffBundler.

import {
  custom,
  decodeFunctionData,
  encodeFunctionData,
  hexToBigInt,
  HttpRequestError,
  isAddressEqual,
  parseAbi,
  parseTransaction,
  RpcRequestError,
  sha256,
  type Address,
  type CustomTransport,
  type Hex,
} from 'viem'
import {
  getUserOperationHash,
  type EntryPointVersion,
  type UserOperation,
} from 'viem/account-abstraction'

export type BailiffConfig = {
  /** Where the service is, without a trailing slash. */
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
  /** Is told of every write before it is submitted: what was authorized, by what, and the JSON-RPC body. */
  onWrite?: (write: { intent: unknown; attestation: string; body: string }) => void
}

/** A write that the policy denied or holds, or that the service would not authorize. It must not be sent again unchanged. */
export class NotAuthorizedError extends Error {
  override name = 'NotAuthorizedError'
  constructor(
    /** DENIED, PENDING, or the status of an error. */
    readonly status: string,
    readonly errorCode: string,
    message: string,
    readonly matchedRule?: string,
    /** Of a PENDING: the hold that a person resolves. Afterwards the same write is sent again. */
    readonly holdId?: string,
  ) {
    super(`${status} ${errorCode}: ${message}`)
  }
}

type Request = { method: string; params?: unknown }
type Call = { to: Address; value: bigint; data: Hex; action: string }

const tokenMethods = parseAbi([
  'function transfer(address to, uint256 amount) returns (bool)',
  'function transferFrom(address from, address to, uint256 amount) returns (bool)',
  'function approve(address spender, uint256 amount) returns (bool)',
])
const accountMethods = parseAbi(['function execute(address to, uint256 value, bytes data)'])

/** A transport for wallet and public clients, over POST /rpc/{chainId}. */
export function bailiff(config: BailiffConfig): CustomTransport {
  return transport(config, 'rpc', async (request, chainId) => {
    if (request.method !== 'eth_sendRawTransaction') return undefined
    const [raw] = request.params as [Hex]
    const { to, value = 0n, data = '0x' } = parseTransaction(raw)
    if (!to) throw new Error('Bailiff submits no transaction that creates a contract')
    const action = data === '0x' ? 'wallet.transfer' : 'contract.call'
    const txCommit = sha256(raw).slice(2)
    return { txCommit, chainId, intent: describe(config, { to, value, data, action }) }
  })
}

/** A transport for bundler clients, over POST /bundler/{chainId}. */
export function bailiffBundler(config: BailiffConfig): CustomTransport {
  return transport(config, 'bundler', async (request, chainId) => {
    if (request.method !== 'eth_sendUserOperation') return undefined
    const [operation, entryPointAddress] = request.params as [Record<string, Hex>, Address]
    const userOpHash = getUserOperationHash({
      chainId,
      entryPointAddress,
      entryPointVersion: versionOf(entryPointAddress),
      userOperation: readOperation(operation),
    })
    const { args } = decodeFunctionData({ abi: accountMethods, data: operation.callData ?? '0x' })
    const [to, value, data] = args
    const call = { to, value, data, action: 'erc4337.userop' }
    return { userOpHash, chainId, intent: describe(config, call) }
  })
}

/** Describes a call as an intent. Amounts are in base units, so that nothing is rounded. */
function describe(config: BailiffConfig, call: Call) {
  const intent = {
    action: call.action,
    targetAddress: call.to.toLowerCase(),
    amount: call.value.toString(),
    amount_unit: 'base',
  }
  const listed = config.tokens?.some((token) => isAddressEqual(token, call.to))
  const method = listed ? readTokenMethod(call.data) : undefined
  if (!method) return call.data === '0x' ? intent : { ...intent, calldata: call.data }
  const { functionName, args } = method
  const [to, amount] = functionName === 'transferFrom' ? [args[1], args[2]] : args
  const action = call.action === 'erc4337.userop' ? call.action
    : functionName === 'approve' ? 'token.approve' : 'wallet.transfer'
  return {
    ...intent,
    action,
    token: call.to.toLowerCase(),
    amount: amount.toString(),
    to: to.toLowerCase(),
    ...(functionName === 'approve' && action === 'erc4337.userop' ? { calldata: call.data } : {}),
  }
}

/** Reads data that is exactly a token's transfer, transferFrom or approve, which is what the gateway takes for one. */
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

type Envelope = { chainId: number; intent: unknown } & ({ txCommit: string } | { userOpHash: string })

function transport(
  config: BailiffConfig,
  endpoint: 'rpc' | 'bundler',
  envelopeOf: (request: Request, chainId: number) => Promise<Envelope | undefined>,
): CustomTransport {
  return (options) => {
    let id = 0
    const chain = async () => {
      if (options.chain) return options.chain.id
      throw new Error('Bailiff has to know the chain; give the client one')
    }
    const request = async (request: Request) => {
      const chainId = await chain()
      const body = JSON.stringify({ jsonrpc: '2.0', id: ++id, method: request.method, params: request.params ?? [] })
      const envelope = await envelopeOf(request, chainId)
      const headers: Record<string, string> = {}
      if (envelope) {
        const attestation = await authorize(config, envelope)
        config.onWrite?.({ intent: envelope, attestation, body })
        headers.authorization = `Bearer ${attestation}`
      }
      return submit(`${config.url}/${endpoint}/${chainId}`, headers, body)
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

/** Asks for a decision, and returns the attestation of an ALLOWED. */
async function authorize(config: BailiffConfig, envelope: Envelope): Promise<string> {
  const response = await fetch(`${config.url}/v1/authorize`, {
    method: 'POST',
    headers: { authorization: `Bearer ${config.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ framework: config.framework ?? 'viem', agentId: config.agentId, ...envelope }),
  })
  const answer = await response.json()
  if (answer.status === 'ALLOWED' && answer.intent_attestation) return answer.intent_attestation
  throw new NotAuthorizedError(answer.status, answer.error_code, answer.message, answer.matched_rule, answer.holdId)
}

async function submit(url: string, headers: Record<string, string>, body: string): Promise<unknown> {
  const response = await fetch(url, { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body })
  const answer = await response.json()
  if (answer.error_code) {
    if (headers.authorization) throw new NotAuthorizedError(answer.status, answer.error_code, answer.message)
    const details = `${answer.error_code}: ${answer.message}`
    throw new HttpRequestError({ url, status: response.status, headers: response.headers, details })
  }
  if (answer.error) {
    const { code, message, data } = answer.error
    const error = { code, data, message: data?.reason ? `${message}: ${data.reason}` : message }
    throw new RpcRequestError({ url, body: JSON.parse(body), error })
  }
  return answer.result
}
