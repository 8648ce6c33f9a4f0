// Compiles contracts.sol: the code of each contract as it lies on the chain, and the selectors of its methods. The source
// comes on standard input, the answer goes to standard output as JSON.
import { readFileSync } from 'node:fs'
import solc from 'solc'

const input = {
  language: 'Solidity',
  sources: { 'contracts.sol': { content: readFileSync(0, 'utf8') } },
  settings: {
    optimizer: { enabled: true, runs: 200 },
    evmVersion: 'cancun',
    metadata: { appendCBOR: false, bytecodeHash: 'none' },
    outputSelection: { '*': { '*': ['evm.deployedBytecode.object', 'evm.methodIdentifiers'] } },
  },
}
const output = JSON.parse(solc.compile(JSON.stringify(input)))
const errors = (output.errors ?? []).filter((e) => e.severity === 'error')
if (errors.length > 0) throw new Error(errors.map((e) => e.formattedMessage).join('\n'))

const contracts = {}
for (const [name, { evm }] of Object.entries(output.contracts['contracts.sol'])) {
  if (evm.deployedBytecode.object === '') continue
  contracts[name] = { code: evm.deployedBytecode.object, methods: evm.methodIdentifiers }
}
process.stdout.write(JSON.stringify(contracts, null, 1) + '\n')
