// A program that uses viem, with Bailiff in front of node and bundler: it sends a value transfer, an ERC-20 transfer and
// a user operation, waits until they are mined, and prepares others without sending them. What it is to do comes on
// standard input, what came of it goes to standard output, both JSON.
import { readFileSync } from 'node:fs'
import { createPublicClient, createWalletClient, encodeFunctionData, parseAbi, parseEther } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import {
  createBundlerClient, entryPoint07Abi, formatUserOperationRequest, getUserOperationHash, toSmartAccount,
} from 'viem/account-abstraction'
import { bailiff, bailiffBundler } from 'bailiff-client/viem'

const task = JSON.parse(readFileSync(0, 'utf8'))
const writes = []
const config = {
  url: task.url, apiKey: task.apiKey, agentId: 'treasury', tokens: [task.token],
  onWrite: ({ attestation, body }) => writes.push({ attestation, body }),
}
const owner = privateKeyToAccount(task.key)
const reader = createPublicClient({ chain: base, transport: bailiff(config), pollingInterval: 100 })
const wallet = createWalletClient({ account: owner, chain: base, transport: bailiff(config) })
const erc20 = parseAbi(['function transfer(address to, uint256 amount) returns (bool)', 'function balanceOf(address) view returns (uint256)'])
const accountAbi = parseAbi(['function execute(address to, uint256 value, bytes data)'])
const factoryAbi = parseAbi(['function createAccount(address owner, uint256 salt)'])
const payee = '0x00000000000000000000000000000000000000aa'

// The account of the common factory: its owner signs, and execute makes one call.
const smart = await toSmartAccount({
  client: reader,
  entryPoint: { abi: entryPoint07Abi, address: task.entryPoint, version: '0.7' },
  getAddress: async () => task.smart,
  getFactoryArgs: async () => ({
    factory: task.factory,
    factoryData: encodeFunctionData({ abi: factoryAbi, functionName: 'createAccount', args: [owner.address, 0n] }),
  }),
  encodeCalls: async ([{ to, value = 0n, data = '0x' }]) =>
    encodeFunctionData({ abi: accountAbi, functionName: 'execute', args: [to, value, data] }),
  getStubSignature: () => owner.signMessage({ message: 'a signature of the right form' }),
  signMessage: async () => { throw new Error('not needed') },
  signTypedData: async () => { throw new Error('not needed') },
  signUserOperation: async ({ chainId = base.id, ...userOperation }) => owner.signMessage({
    message: {
      raw: getUserOperationHash({
        chainId, entryPointAddress: task.entryPoint, entryPointVersion: '0.7', userOperation: { ...userOperation, sender: task.smart },
      }),
    },
  }),
})
const bundler = createBundlerClient({ account: smart, client: reader, chain: base, transport: bailiffBundler(config), pollingInterval: 100 })

const sent = {}
async function transaction(name, hash) {
  const { status, transactionHash } = await reader.waitForTransactionReceipt({ hash })
  sent[name] = { status, hash: transactionHash, ...writes.at(-1) }
}
const balance = () => reader.getBalance({ address: payee })
const tokens = () => reader.readContract({ address: task.token, abi: erc20, functionName: 'balanceOf', args: [payee] })
const before = [await balance(), await tokens()]

await transaction('value', await wallet.sendTransaction({ to: payee, value: parseEther('0.01') }))
await transaction('token', await wallet.writeContract({ address: task.token, abi: erc20, functionName: 'transfer', args: [payee, parseEther('3')] }))
const hash = await bundler.sendUserOperation({ calls: [{ to: payee, value: parseEther('0.02') }] })
const { success, userOpHash } = await bundler.waitForUserOperationReceipt({ hash, timeout: 60_000 })
sent.operation = { status: success ? 'success' : 'reverted', hash: userOpHash, ...writes.at(-1) }

// What the policy does not allow is not even submitted.
const denied = await wallet.sendTransaction({ to: payee, value: parseEther('2') }).then(() => 'sent', (error) => String(error.walk?.() ?? error))

// Signed, and not sent.
const nonce = await reader.getTransactionCount({ address: owner.address })
const common = { type: 'eip1559', chainId: base.id, gas: 100_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n, nonce }
const raw = (fields) => owner.signTransaction({ ...common, ...fields })
const prepared = await bundler.prepareUserOperation({ calls: [{ to: payee, value: parseEther('0.02') }] })
prepared.signature = await smart.signUserOperation(prepared)

process.stdout.write(JSON.stringify({
  sent,
  denied,
  received: [String(await balance() - before[0]), String(await tokens() - before[1])],
  value: await raw({ to: payee, value: parseEther('0.01') }),
  token: await raw({ nonce: nonce + 1, to: task.token, data: encodeFunctionData({ abi: erc20, functionName: 'transfer', args: [payee, parseEther('3')] }) }),
  operation: formatUserOperationRequest(prepared),
  operationHash: getUserOperationHash({ chainId: base.id, entryPointAddress: task.entryPoint, entryPointVersion: '0.7', userOperation: prepared }),
}))
