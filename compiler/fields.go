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

// The slots of the fields that the emitter reads by itself.
var (
	slotAction     = slot.Action.String()
	slotChainID    = slot.ChainID.String()
	slotTarget     = slot.TargetAddress.String()
	slotToken      = slot.Token.String()
	fieldAmount    = slot.Amount.String()
	slotAmountUnit = slot.AmountUnit.String()
	slotCalldata   = slot.Calldata.String()
	slotMaxFee     = slot.MaxFee.String()
	slotTo         = slot.To.String()
	slotTaskID     = slot.TaskID.String()
	slotMethod     = slot.Method.String()
)
