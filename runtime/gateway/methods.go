package gateway

// An Endpoint is one of the two gateways.
type Endpoint uint8

// The gateways (specification, "Gateways").
const (
	RPC     Endpoint = iota // POST /rpc/{chainId}
	Bundler                 // POST /bundler/{chainId}
)

// String returns the first segment of the gateway's path.
func (e Endpoint) String() string { return [...]string{"rpc", "bundler"}[e] }

// A Method is a row of the table of JSON-RPC methods that a gateway lets through.
type Method struct {
	Name   string
	Write  bool   // it needs an attestation
	Source string // where the method is specified: a file of the execution-apis repository, or an ERC
}

// methods is the table of what is let through, by endpoint; whatever is not in it is refused with -32601. What keeps
// something in the node between calls (filters, subscriptions), acts with the node's own accounts, or starts work
// without bound (eth_simulateV1, debug, trace) is left out on purpose.
var methods = [...][]Method{
	RPC: {
		{"eth_sendRawTransaction", true, "src/eth/submit.yaml"},

		{"eth_blockNumber", false, "src/eth/client.yaml"},
		{"eth_chainId", false, "src/eth/client.yaml"},
		{"eth_syncing", false, "src/eth/client.yaml"},

		{"eth_getBlockByHash", false, "src/eth/block.yaml"},
		{"eth_getBlockByNumber", false, "src/eth/block.yaml"},
		{"eth_getBlockReceipts", false, "src/eth/block.yaml"},
		{"eth_getBlockTransactionCountByHash", false, "src/eth/block.yaml"},
		{"eth_getBlockTransactionCountByNumber", false, "src/eth/block.yaml"},
		{"eth_getUncleCountByBlockHash", false, "src/eth/block.yaml"},
		{"eth_getUncleCountByBlockNumber", false, "src/eth/block.yaml"},

		{"eth_call", false, "src/eth/execute.yaml"},
		{"eth_createAccessList", false, "src/eth/execute.yaml"},
		{"eth_estimateGas", false, "src/eth/execute.yaml"},

		{"eth_blobBaseFee", false, "src/eth/fee_market.yaml"},
		{"eth_feeHistory", false, "src/eth/fee_market.yaml"},
		{"eth_gasPrice", false, "src/eth/fee_market.yaml"},
		{"eth_maxPriorityFeePerGas", false, "src/eth/fee_market.yaml"},

		{"eth_getLogs", false, "src/eth/filter.yaml"},

		{"eth_getBalance", false, "src/eth/state.yaml"},
		{"eth_getCode", false, "src/eth/state.yaml"},
		{"eth_getProof", false, "src/eth/state.yaml"},
		{"eth_getStorageAt", false, "src/eth/state.yaml"},
		{"eth_getTransactionCount", false, "src/eth/state.yaml"},

		{"eth_getTransactionByBlockHashAndIndex", false, "src/eth/transaction.yaml"},
		{"eth_getTransactionByBlockNumberAndIndex", false, "src/eth/transaction.yaml"},
		{"eth_getTransactionByHash", false, "src/eth/transaction.yaml"},
		{"eth_getTransactionReceipt", false, "src/eth/transaction.yaml"},
	},
	Bundler: {
		{"eth_sendUserOperation", true, "ERC-7769"},

		{"eth_chainId", false, "ERC-7769"},
		{"eth_estimateUserOperationGas", false, "ERC-7769"},
		{"eth_getUserOperationByHash", false, "ERC-7769"},
		{"eth_getUserOperationReceipt", false, "ERC-7769"},
		{"eth_supportedEntryPoints", false, "ERC-7769"},
	},
}

// Methods returns the methods that a gateway lets through.
func (e Endpoint) Methods() []Method { return append([]Method(nil), methods[e]...) }

// methodByName indexes methods. Names are exact: eth_SendRawTransaction is another method, which is refused.
var methodByName = func() (index [len(methods)]map[string]*Method) {
	for e := range methods {
		index[e] = make(map[string]*Method, len(methods[e]))
		for i := range methods[e] {
			index[e][methods[e][i].Name] = &methods[e][i]
		}
	}
	return index
}()
