// What a program sends under the policy that a first run makes, with viem and Bailiff: USDC, wrapped ether, and what is not
// to be sent. The argument is JSON; so is what it prints. Errors are told by instanceof, without an extension of the client.
import { createPublicClient, createTestClient, createWalletClient, http, parseAbi, parseEther } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import { bailiff, bailiffErrors, notAuthorized, NotAuthorizedError } from 'bailiff-client/viem'

const task = JSON.parse(process.argv[2])
const usdc = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const weth = '0x4200000000000000000000000000000000000006'
const erc20 = parseAbi(['function transfer(address to, uint256 amount) returns (bool)'])
const account = privateKeyToAccount(task.key)

// The contracts stand at their addresses on Base; here is code in their place that answers every call with 1.
const node = createTestClient({ mode: 'anvil', chain: base, transport: http(task.node) })
for (const address of [usdc, weth]) await node.setCode({ address, bytecode: '0x60015f5260205ff3' })

const writes = []
const config = {
  url: task.url, apiKey: task.apiKey, agentId: 'recipes', taskId: 'task-1', tokens: [usdc],
  metadata: ({ action }) => (action === 'wallet.transfer' ? { desk: 'desk-2' } : {}),
  onWrite: ({ intent }) => writes.push(intent.intent),
}
const client = (more) => createWalletClient({ account, chain: base, transport: bailiff({ ...config, ...more }) })
const reader = createPublicClient({ chain: base, transport: bailiff(config), pollingInterval: 100 })
const pay = (wallet, amount, to = task.payee) => wallet.writeContract({ address: usdc, abi: erc20, functionName: 'transfer', args: [to, amount] })

async function outcome(write) {
  try {
    return (await reader.waitForTransactionReceipt({ hash: await write })).status
  } catch (error) {
    if (error instanceof NotAuthorizedError) return `caught ${error.errorCode} ${error.matchedRule ?? ''}`.trim()
    const inside = notAuthorized(error)
    return inside ? `inside ${error.name}: ${inside.errorCode} ${inside.matchedRule ?? ''}`.trim() : String(error.walk?.()?.message ?? error)
  }
}

const wallet = client({}).extend(bailiffErrors)
const results = {
  usdc: await outcome(pay(wallet, 5_000_000n)),
  stranger: await outcome(pay(wallet, 5_000_000n, task.stranger)),
  weth: await outcome(wallet.sendTransaction({ to: weth, value: parseEther('0.01'), data: '0xd0e30db0' })),
  tooMuch: await outcome(pay(wallet, 300_000_000n)),
  wrapped: await outcome(pay(client({}), 300_000_000n)),
  held: await outcome(wallet.sendTransaction({ to: task.payee, value: parseEther('0.26') })),
  otherDesk: await outcome(client({ metadata: { desk: 'desk-3' } }).extend(bailiffErrors).sendTransaction({ to: task.payee, value: 1n })),
  noDesk: await outcome(client({ metadata: undefined }).extend(bailiffErrors).sendTransaction({ to: task.payee, value: 1n })),
  fee: await outcome(client({ maxFee: parseEther('0.005') }).sendTransaction({ to: task.payee, value: 1n })),
  cheap: await outcome(client({ maxFee: 1n }).sendTransaction({ to: task.payee, value: 1n })),
  dear: await outcome(client({ maxFee: parseEther('0.02') }).extend(bailiffErrors).sendTransaction({ to: task.payee, value: 1n })),
}
process.stdout.write(JSON.stringify({ results, writes }))
