// Deploys to the node at the URL of its argument what the tests need: the EntryPoints at their canonical addresses, an
// account factory, and an ERC-20. Prints the addresses as JSON.
import { createRequire } from 'node:module'
import { concat, createPublicClient, createWalletClient, encodeDeployData, http, parseEther } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'

const require = createRequire(import.meta.url)
const artifact = (version, name) => require(`@account-abstraction/contracts-${version}/artifacts/${name}.json`)
const [, , url, key] = process.argv
const account = privateKeyToAccount(key)
const client = createWalletClient({ account, chain: base, transport: http(url) })
const reader = createPublicClient({ chain: base, transport: http(url), pollingInterval: 20 })

async function mined(hash) {
  const receipt = await reader.waitForTransactionReceipt({ hash })
  if (receipt.status !== 'success') throw new Error(`transaction ${hash} failed`)
  return receipt
}

// The deployer that stands at one address on every chain: salt, then init code.
const deployer = '0x4e59b44847b379578588920cA78FbF26c0B4956C'
const entryPoints = {
  v06: ['0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789', `0x${'0'.repeat(64)}`],
  v07: ['0x0000000071727De22E5E9d8BAf0edAc6f37da032', '0x90d8084deab30c2a37c45e8d47f49f2f7965183cb6990a98943ef94940681de3'],
  v08: ['0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108', '0x0a59dbff790c23c976a548690c27297883cc66b4c67024f9117b0238995e35e9'],
}
for (const [version, [address, salt]] of Object.entries(entryPoints)) {
  const { bytecode } = artifact(version, 'EntryPoint')
  await mined(await client.sendTransaction({ to: deployer, data: concat([salt, bytecode]), gas: 15_000_000n }))
  if (!(await reader.getCode({ address }))) throw new Error(`EntryPoint ${version} is not at ${address}`)
}

async function deploy({ abi, bytecode }, args) {
  const hash = await client.sendTransaction({ data: encodeDeployData({ abi, bytecode, args }), gas: 15_000_000n })
  return (await mined(hash)).contractAddress
}

const entryPoint = entryPoints.v07[0]
const factory = await deploy(artifact('v07', 'SimpleAccountFactory'), [entryPoint])
// A paymaster that is an ERC-20 of its own; the tests use it as a token only.
const erc20 = artifact('v07', 'LegacyTokenPaymaster')
const token = await deploy(erc20, [factory, 'TST', entryPoint])
const smart = await reader.readContract({
  address: factory, abi: artifact('v07', 'SimpleAccountFactory').abi, functionName: 'getAddress', args: [account.address, 0n],
})
for (const owner of [account.address, smart]) {
  await mined(await client.writeContract({ address: token, abi: erc20.abi, functionName: 'mintTokens', args: [owner, parseEther('1000')] }))
}
await mined(await client.sendTransaction({ to: smart, value: parseEther('10') }))
process.stdout.write(JSON.stringify({ entryPoint, factory, token, smart, account: account.address }))
