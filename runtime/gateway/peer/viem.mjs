// Signs transactions and hashes user operations with viem. The question comes on standard input, the answer goes to
// standard output, both JSON.
import { readFileSync } from 'node:fs'
import { sha256 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { formatUserOperationRequest, getUserOperationHash, toPackedUserOperation } from 'viem/account-abstraction'

const question = JSON.parse(readFileSync(0, 'utf8'))
const account = privateKeyToAccount(question.privateKey)

// Members that viem takes as bigints.
const big = new Set([
  'value', 'gas', 'gasPrice', 'maxFeePerGas', 'maxPriorityFeePerGas', 'callGasLimit', 'verificationGasLimit',
  'preVerificationGas', 'paymasterVerificationGasLimit', 'paymasterPostOpGasLimit',
])

function revive(fields, nonceIsBig) {
  const revived = {}
  for (const [name, value] of Object.entries(fields)) {
    revived[name] = big.has(name) || (name === 'nonce' && nonceIsBig) ? BigInt(value) : value
  }
  return revived
}

const transactions = []
for (const fields of question.transactions ?? []) {
  const raw = await account.signTransaction(revive(fields, false))
  transactions.push({ raw, sha256: sha256(raw) })
}

const operations = (question.operations ?? []).map(({ version, entryPoint, chainId, fields }) => {
  const userOperation = revive(fields, true)
  const hash = getUserOperationHash({ chainId, entryPointAddress: entryPoint, entryPointVersion: version, userOperation })
  const rpc = formatUserOperationRequest(userOperation)
  if (version === '0.6') return { hash, rpc }
  const { nonce, preVerificationGas, ...rest } = toPackedUserOperation(userOperation)
  const packed = { ...rest, nonce: '0x' + nonce.toString(16), preVerificationGas: '0x' + preVerificationGas.toString(16) }
  if (rpc.eip7702Auth) {
    packed.eip7702Auth = rpc.eip7702Auth
    packed.initCode = packed.initCode.replace(/^0x7702/, '0x7702' + '0'.repeat(36))
  }
  return { hash, rpc, packed }
})

process.stdout.write(JSON.stringify({ address: account.address, transactions, operations }))
