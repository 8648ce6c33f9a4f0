package frame

import (
	"slices"
	"strings"
)

// ForeignTools are the tools that can't be EVM actions (decisions, section 2, "Kinds of intents").
var ForeignTools = []string{"bash", "file_write", "web_fetch", "http", "email.send"}

// What makes an intent an MCP call, and one of a model, by its action in lower case (decisions, section 2, "Kinds of intents").
const (
	MCPPrefix   = "mcp."
	ModelAction = "model.inference"
)

// IsMCP reports whether an action in lower case is an MCP call.
func IsMCP(lower string) bool { return strings.HasPrefix(lower, MCPPrefix) }

// ApproveAction is the EVM action that is always about a token.
const ApproveAction = "token.approve"

// TransferAction is the EVM action that pays, in the native currency or a token.
const TransferAction = "wallet.transfer"

// CoreEVMActions returns the actions that are EVM actions under every policy, in lower case.
func CoreEVMActions() []string { return slices.Clone(coreEVMActions) }

// coreEVMActions are EVM actions under every policy, in lower case.
var coreEVMActions = []string{TransferAction, CallAction, ApproveAction, "erc4337.userop"}

// CallAction is the EVM action that calls any method of a contract.
const CallAction = "contract.call"

// The rules that mean what no key says (decisions, section 1).
const (
	RuleNoToken   = "evm.token"                       // there is no rule for the token
	RuleUnbounded = "evm.calldata.unbounded_approval" // a call approves 2^256-1
)

// The keys that every section but the profiles has.
const (
	NameApproval = "require_approval"
	NameShim     = "require_shim"
)

// WordAttested is the one word of a key that is no operator.
const WordAttested = "attested"
