package compiler

import "bailiff/vm/slot"

// fieldNames returns the names of the fields that the path of a rule may begin with.
func fieldNames() []string {
	var names []string
	for _, row := range slot.Rows() {
		names = append(names, row.Name)
	}
	return names
}

// supportedChains are the chains that a request can name (the specification's table "Intent").
var supportedChains = []string{"1", "10", "56", "137", "999", "8453", "42161"}

// The slots of the fields and derived values that the emitter reads by itself.
const (
	slotAction         = "action"
	slotChainID        = "chainId"
	slotTarget         = "targetAddress"
	slotToken          = "token"
	fieldAmount        = "amount"
	slotAmount         = "@amount"
	slotAmountUnit     = "amount_unit"
	slotCalldata       = "calldata"
	slotMaxFee         = "maxFee"
	slotTo             = "to"
	slotTaskID         = "task_id"
	slotLowerAction    = "@action"
	slotLowerToken     = "@token"
	slotProvenance     = "@provenance"
	slotCommand        = "@command"
	slotCalls          = "@calls"
	slotHost           = "@host"
	slotHosts          = "@hosts"
	slotPath           = "@path"
	slotFiles          = "@files"
	slotText           = "@text"
	slotCaseless       = "@caseless"
	slotCalldataAmount = "@calldata.amount"
	slotCalldataMethod = "@calldata.method"
	slotCalldataRuns   = "@calldata.runs"
	slotMismatch       = "@calldata.mismatch"
	slotTargetToken    = "@target.token"
	slotStray          = "@token.stray"
	slotMoved          = "@moved"
	slotMovedAmount    = "@moved.amount"
	slotMethod         = "method"
	slotQuery          = "@query"
	slotRecipients     = "@recipients"
	slotServer         = "@server"
	slotTool           = "@tool"
	slotMCP            = "@mcp"
	slotUsage          = "@usage"
	slotSpend          = "@usage.spend"
	slotTokens         = "@usage.tokens"
	slotCall           = "@evm.call"
	slotCallToken      = "@evm.call.token"
	slotCallSymbol     = "@evm.call.symbol"
	slotCallAmount     = "@evm.call.amount"
)
