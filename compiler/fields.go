package compiler

import (
	"bailiff/vm/slot"
	"bailiff/vm/slot/derived"
)

// fieldNames returns the names of the fields that the path of a rule may begin with.
func fieldNames() []string {
	var names []string
	for _, row := range slot.Ruled() {
		names = append(names, row.Name)
	}
	return names
}

// The slots of the fields and derived values that the emitter reads by itself.
var (
	slotAction         = slot.Action.String()
	slotChainID        = slot.ChainID.String()
	slotTarget         = slot.TargetAddress.String()
	slotToken          = slot.Token.String()
	fieldAmount        = slot.Amount.String()
	slotAmount         = derived.Amount
	slotAmountUnit     = slot.AmountUnit.String()
	slotCalldata       = slot.Calldata.String()
	slotMaxFee         = slot.MaxFee.String()
	slotTo             = slot.To.String()
	slotTaskID         = slot.TaskID.String()
	slotLowerAction    = derived.Action
	slotLowerToken     = derived.Token
	slotProvenance     = derived.Provenance
	slotCommand        = derived.Command
	slotCalls          = derived.Calls
	slotHost           = derived.Host
	slotHosts          = derived.Hosts
	slotPath           = derived.Path
	slotFiles          = derived.Files
	slotText           = derived.Text
	slotCaseless       = derived.Caseless
	slotCalldataAmount = derived.CalldataAmount
	slotCalldataMethod = derived.Method
	slotCalldataRuns   = derived.Runs
	slotMismatch       = derived.Mismatch
	slotTargetToken    = derived.TargetToken
	slotStray          = derived.Stray
	slotMoved          = derived.Moved
	slotMovedAmount    = derived.MovedAmount
	slotMethod         = slot.Method.String()
	slotQuery          = derived.Query
	slotRecipients     = derived.Recipients
	slotServer         = derived.Server
	slotTool           = derived.Tool
	slotMCP            = derived.MCP
	slotUsage          = derived.Usage
	slotSpend          = derived.Spend
	slotTokens         = derived.Tokens
	slotCall           = derived.Call
	slotCallToken      = derived.CallToken
	slotCallSymbol     = derived.CallSymbol
	slotCallAmount     = derived.CallAmount
)
