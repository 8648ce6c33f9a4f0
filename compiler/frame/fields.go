package frame

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
	SlotAction     = slot.Action.String()
	SlotChainID    = slot.ChainID.String()
	SlotTarget     = slot.TargetAddress.String()
	SlotToken      = slot.Token.String()
	SlotAmount     = slot.Amount.String()
	SlotAmountUnit = slot.AmountUnit.String()
	SlotCalldata   = slot.Calldata.String()
	SlotMaxFee     = slot.MaxFee.String()
	SlotTo         = slot.To.String()
	SlotTaskID     = slot.TaskID.String()
	SlotMethod     = slot.Method.String()
)
