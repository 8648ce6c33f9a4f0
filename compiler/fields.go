package compiler

import "bailiff/vm/slot"

// fieldNames returns the names of the fields that the path of a rule may begin with.
func fieldNames() []string {
	var names []string
	for _, row := range slot.Ruled() {
		names = append(names, row.Name)
	}
	return names
}

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
