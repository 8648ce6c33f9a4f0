// Sends a value transfer under the policy that `make run` makes, or one like it. Set PRIVATE_KEY, TO, and VALUE in ether;
// BAILIFF_API_KEY is in data/api-key after `make run RPC_URL=…`. What Bailiff needs is the import of bailiff-client, the line of
// `transport` and `.extend(bailiffErrors)`.

import { createPublicClient, createWalletClient, parseEther, type Address, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import { bailiff, bailiffErrors, NotAuthorizedError } from 'bailiff-client/viem'

declare const process: { env: Record<string, string | undefined>; exitCode: number }

function setting(name: string, fallback?: string): string {
  const value = process.env[name] ?? fallback
  if (!value) throw new Error(`set ${name}`)
  return value
}

const transport = bailiff({
  url: setting('BAILIFF_URL', 'http://127.0.0.1:8787'),
  apiKey: setting('BAILIFF_API_KEY').trim(),
  agentId: 'example',
  taskId: setting('TASK_ID', 'example-1'),
  // The policy wants to know for which desk a transfer is.
  metadata: { desk: setting('DESK', 'desk-1') },
  hold: {
    timeout: 1_000 * Number(setting('WAIT_SECONDS', '600')),
    pollingInterval: 1_000 * Number(setting('POLL_SECONDS', '1')),
    onHold: ({ holdId }) =>
      console.log(
        `waiting for hold ${holdId}; approve it with: bin/bailiff holds approve ${holdId} --key config/operator.key`,
      ),
  },
})
const account = privateKeyToAccount(setting('PRIVATE_KEY') as Hex)
const wallet = createWalletClient({ account, chain: base, transport }).extend(bailiffErrors)
const reader = createPublicClient({ chain: base, transport, pollingInterval: 200 })

try {
  const hash = await wallet.sendTransaction({ to: setting('TO') as Address, value: parseEther(setting('VALUE')) })
  const receipt = await reader.waitForTransactionReceipt({ hash })
  console.log(hash, receipt.status)
} catch (error) {
  if (!(error instanceof NotAuthorizedError)) throw error
  console.log(`not sent: ${error.shortMessage}`)
  process.exitCode = 3
}
