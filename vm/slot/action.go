package slot

import (
	"slices"
	"strings"

	"bailiff/vm/form/calldata"
)

// Actions that mean something by their name, in lower case (decisions, section 2, "Kinds of intents").
const (
	TransferAction = calldata.TransferAction // pays, in the native currency or a token
	ApproveAction  = calldata.ApproveAction  // is always about a token
	CallAction     = "contract.call"         // calls any method of a contract
	UserOpAction   = "erc4337.userop"

	BashAction     = "bash"
	WriteAction    = "file_write"
	ReadAction     = "file_read"
	WebFetchAction = "web_fetch"
	HTTPAction     = "http"
	EmailAction    = "email.send"

	ModelAction = "model.inference"
	MCPPrefix   = "mcp." // begins every MCP action
)

// The members of metadata that name the parts of an MCP action.
const (
	ServerID = "serverId"
	ToolName = "toolName"
)

// coreEVMActions are EVM actions under every policy.
var coreEVMActions = []string{TransferAction, CallAction, ApproveAction, UserOpAction}

// CoreEVMActions returns the actions that are EVM actions under every policy.
func CoreEVMActions() []string { return slices.Clone(coreEVMActions) }

// ForeignTools are the tools that can't be EVM actions.
var ForeignTools = []string{BashAction, WriteAction, WebFetchAction, HTTPAction, EmailAction}

// IsMCP reports whether an action in lower case is an MCP call.
func IsMCP(lower string) bool { return strings.HasPrefix(lower, MCPPrefix) }

// MaxAction is how long an action may be, in bytes.
const MaxAction = 128

// IsAction reports whether a request can have that action.
func IsAction(text string) bool { return madeOf(text, MaxAction, isVisible) }
