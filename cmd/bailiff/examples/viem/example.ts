// Sends a value transfer. Set BAILIFF_URL, BAILIFF_API_KEY, PRIVATE_KEY, TO, and VALUE in ether. The import of
// ./bailiff.js and the line of `transport` are all that is special about it.

import { createPublicClient, createWalletClient, parseEther, type Address, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import { bailiff } from './bailiff.js'

declare const process: { env: Record<string, string | undefined> }

function setting(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`set ${name}`)
  return value
}

const transport = bailiff({ url: setting('BAILIFF_URL'), apiKey: setting('BAILIFF_API_KEY'), agentId: 'example' })
const account = privateKeyToAccount(setting('PRIVATE_KEY') as Hex)
const wallet = createWalletClient({ account, chain: base, transport })
const reader = createPublicClient({ chain: base, transport, pollingInterval: 200 })

const hash = await wallet.sendTransaction({ to: setting('TO') as Address, value: parseEther(setting('VALUE')) })
const receipt = await reader.waitForTransactionReceipt({ hash })
console.log(hash, receipt.status)
