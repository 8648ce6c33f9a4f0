package compiler

import (
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
)

// The counters of model budgets, whose values a task's requests report whether or not a policy has a budget. Spend is
// in millionths of a USD.
const (
	SpendCounter  = "execution_limits.max_model_spend_usd_per_task"
	TokensCounter = "execution_limits.max_model_tokens_per_task"
	// InputCounter and OutputCounter are the parts of the tokens: no budget is about them, and the total is never less than
	// both together.
	InputCounter  = "model_usage.input_tokens"
	OutputCounter = "model_usage.output_tokens"
)

// byTask lets a counter count by task, and denies intents without one.
func (e *emitter) byTask(c *vm.Counter, rule, message string, next vm.Label) {
	has := e.NewLabel()
	c.Group, c.GroupName = e.Field(slotTaskID), slotTaskID
	e.Kind(vm.Unless, c.Group, absent, has)
	e.deny(rule, errcode.TaskIDRequired, message, e.value(slotTaskID), next)
	e.Place(has)
}

// counterOf returns a counter of uses, named as its rule. Rows of limits on sums and by groups change it.
func counterOf(key *Key, window vm.Window, limit amount.Amount) vm.Counter {
	return vm.Counter{Name: key.Rule, Op: vm.Count, Limit: limit, Unit: key.Unit, Amount: vm.NoSlot, Window: window, Group: vm.NoSlot, Subgroup: vm.NoSlot}
}

// reserve plans a counter whose name is its rule.
func (e *emitter) reserve(c vm.Counter, refusal errcode.Code, message string) {
	c.Rule = e.Rule(vm.Rule{Name: c.Name, Code: string(refusal), Message: message})
	e.Reserve(e.Counter(c))
}
