package frame

import (
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
)

// The counters of the parts of what a task reports of tokens: no budget is about them, and the total is never less than both
// together.
const (
	InputCounter  = "model_usage.input_tokens"
	OutputCounter = "model_usage.output_tokens"
)

// ByTask lets a counter count by task, and denies intents without one.
func (e *Emitter) ByTask(c *vm.Counter, rule, message string, next vm.Label) {
	has := e.NewLabel()
	c.Group, c.GroupName = e.Field(SlotTaskID), SlotTaskID
	e.Kind(vm.Unless, c.Group, Absent, has)
	e.DenyBy(rule, errcode.TaskIDRequired, message, e.Value(SlotTaskID), next)
	e.Place(has)
}

// CounterOf returns a counter of uses, named as its rule. Rows of limits on sums and by groups change it.
func CounterOf(key *Key, window vm.Window, limit amount.Amount) vm.Counter {
	return vm.Counter{Name: key.Rule, Op: vm.Count, Limit: limit, Unit: key.Unit, Amount: vm.NoSlot, Window: window, Group: vm.NoSlot, Subgroup: vm.NoSlot}
}

// ReserveBy plans a counter whose name is its rule.
func (e *Emitter) ReserveBy(c vm.Counter, refusal errcode.Code, message string) {
	c.Rule = e.Rule(vm.Rule{Name: c.Name, Code: string(refusal), Message: message})
	e.Reserve(e.Counter(c))
}
