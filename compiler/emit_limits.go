package compiler

import (
	"strings"

	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
	"bailiff/vm/slot"
)

// limits returns the steps that plan counters: execution limits, then, from 2.0, soft limits.
func (e *emitter) limits() (steps []step) {
	if l := e.policy.ExecutionLimits; l != nil {
		if l.CallsPerTask != nil || l.CallsPerHour != nil {
			steps = append(steps, only(e.callLimits, vm.Tool, vm.MCP))
		}
		if l.budgets() {
			steps = append(steps, step{shared: e.budgets})
		}
	}
	s := e.policy.SoftLimits
	if s == nil || !e.policy.Version.AtLeast(2, 0) {
		return steps // version 1.x only informs
	}
	if s.DailyEVM != nil {
		steps = append(steps, only(e.dailyEVM, vm.EVM))
	}
	if s.DailyFee != nil {
		steps = append(steps, only(e.dailyFee, vm.EVM))
	}
	if len(s.DailyToken) > 0 {
		steps = append(steps, only(e.dailyTokens, vm.EVM))
	}
	if s.DailyCalls != nil {
		steps = append(steps, only(e.dailyCalls, vm.Tool, vm.MCP))
	}
	if len(s.Caps) > 0 {
		steps = append(steps, step{shared: e.caps})
	}
	return steps
}

// callLimits plans the counters of tool calls.
func (e *emitter) callLimits() {
	l := e.policy.ExecutionLimits
	if l.CallsPerTask != nil {
		e.at(l.CallsPerTask.Span)
		next := e.NewLabel()
		c := counterOf(keyPerTask, "tool calls", vm.Task, amount.FromUint64(l.CallsPerTask.N))
		e.byTask(&c, keyPerTask.Rule, "the policy limits tool calls per task, and the intent has no task_id", next)
		e.reserve(c, keyPerTask.Code, "the tool calls of this task reach the limit")
		e.Place(next)
	}
	if l.CallsPerHour != nil {
		e.at(l.CallsPerHour.Span)
		c := counterOf(keyPerHour, "tool calls", vm.Hour, amount.FromUint64(l.CallsPerHour.N))
		e.reserve(c, keyPerHour.Code, "the tool calls of this hour reach the limit")
	}
}

// budgets plans the counters of what a task spends on models.
func (e *emitter) budgets() {
	l := e.policy.ExecutionLimits
	if l.SpendPerTask != nil {
		e.at(l.SpendPerTask.Span)
		c := counterOf(keySpend, "USD", vm.Task, l.SpendPerTask.Amount)
		c.Decimals = spendDecimals
		e.budget(c, keySpend, slotSpend, "metadata.model_usage does not say what the task has spent", "what the task has spent on models is above the budget")
	}
	if l.TokensPerTask != nil {
		e.at(l.TokensPerTask.Span)
		c := counterOf(keyTokens, "tokens", vm.Task, amount.FromUint64(l.TokensPerTask.N))
		e.budget(c, keyTokens, slotTokens, "metadata.model_usage does not say how many tokens the task has used", "the model tokens of the task are above the budget")
	}
}

// budget plans a counter that rises to what the intent reports. Where one that is not a model's brings no usage, the plan
// asks for what was seen for its task (ledger.Reservation).
func (e *emitter) budget(c vm.Counter, key *Key, slot, unknown, above string) {
	next, others, known := e.NewLabel(), e.NewLabel(), e.NewLabel()
	e.byTask(&c, key.Rule, "the policy limits what a task uses of models, and the intent has no task_id", next)
	c.Op, c.Amount = vm.Max, e.Field(slot)
	e.Test(vm.OpIn, vm.Unless, e.Field(slotLowerAction), e.exactly(modelAction), others)
	e.Kind(vm.Unless, c.Amount, absent, known)
	e.deny(key.Rule, errcode.ModelUsage, unknown, e.value(slot), next)
	e.Place(others)
	e.Kind(vm.Unless, c.Amount, absent, known)
	e.Kind(vm.If, e.Field(slotUsage), absent, known) // what was seen of the task counts
	e.deny(key.Rule, errcode.ModelUsage, unknown, e.value(slotUsage), next)
	e.Place(known)
	e.reserve(c, key.Code, above)
	e.Place(next)
}

// dailyEVM plans the counter of a day's native amounts. What is no amount has been denied.
func (e *emitter) dailyEVM() {
	limit := e.policy.SoftLimits.DailyEVM
	count, next := e.NewLabel(), e.NewLabel()
	c := counterOf(keyDailyEVM, "ETH", vm.Day, limit.Amount)
	c.Op, c.Amount, c.Decimals = vm.Sum, e.Field(slotAmount), NativeDecimals
	e.at(limit.Span)
	e.Kind(vm.Unless, e.Field(slotLowerToken), absent, next)
	if !e.policy.Version.AtLeast(2, 1) { // from then on a missing amount has been denied
		e.Kind(vm.If, c.Amount, absent, count)
	}
	e.Load(0, c.Amount, NativeDecimals, count)
	e.Jump(next)
	e.Place(count)
	e.reserve(c, keyDailyEVM.Code, "the native amounts of this day (UTC) reach soft_limits.daily_evm_limit_eth")
	e.Place(next)
}

// dailyFee plans the counter of a day's fees, as far as intents declare them. What is no amount has been denied.
func (e *emitter) dailyFee() {
	limit := e.policy.SoftLimits.DailyFee
	given, count, next := e.NewLabel(), e.NewLabel(), e.NewLabel()
	c := counterOf(keyDailyFee, "ETH", vm.Day, limit.Amount)
	c.Op, c.Amount, c.Decimals = vm.Sum, e.Field(slotMaxFee), NativeDecimals
	e.at(limit.Span)
	e.Kind(vm.Unless, c.Amount, absent, given)
	e.deny(keyDailyFee.Rule, errcode.AmountRequired, "the policy limits fees, and maxFee is missing; declare the most that gas may cost", e.value(slotMaxFee), next)
	e.Place(given)
	e.Load(1, c.Amount, NativeDecimals, count)
	e.Jump(next)
	e.Place(count)
	e.reserve(c, keyDailyFee.Code, "the fees of this day (UTC) reach soft_limits.daily_fee_eth")
	e.Place(next)
}

// dailyTokens plans the counters of what is moved of tokens in a day.
func (e *emitter) dailyTokens() {
	limits := e.policy.SoftLimits.DailyToken
	next := e.NewLabel()
	cases := make([]vm.Case, len(limits))
	for i, limit := range limits {
		cases[i] = vm.Case{Text: strings.ToLower(limit.Token.Symbol), To: e.NewLabel()}
	}
	e.at(limits[0].Most.Span)
	e.Switch(e.Field(slotMoved), next, cases...)
	for i, limit := range limits {
		e.Place(cases[i].To)
		e.at(limit.Most.Span)
		rule := keyDailyToken.ruleOf(limit.Token.Symbol)
		c := counterOf(keyDailyToken, limit.Token.Symbol, vm.Day, limit.Most.Amount)
		c.Name = keyDailyToken.ruleOf(cases[i].Text) // the symbol's case makes no other counter
		c.Op, c.Amount, c.Decimals = vm.Sum, e.Field(slotMovedAmount), limit.Most.Decimals
		c.Rule = e.Rule(vm.Rule{Name: rule, Code: string(keyDailyToken.Code), Message: "what is moved of the token on this day (UTC) reaches " + rule})
		e.Reserve(e.Counter(c))
		e.Jump(next)
	}
	e.Place(next)
}

func (e *emitter) dailyCalls() {
	limit := e.policy.SoftLimits.DailyCalls
	e.at(limit.Span)
	c := counterOf(keyDailyCalls, "tool calls", vm.Day, amount.FromUint64(limit.N))
	e.reserve(c, keyDailyCalls.Code, "the tool calls of this day (UTC) reach soft_limits.daily_tool_calls")
}

func (e *emitter) caps() {
	for _, one := range e.policy.SoftLimits.Caps {
		e.cap(one)
	}
}

// windows are the windows of caps by name.
var windows = map[string]vm.Window{"day": vm.Day, "hour": vm.Hour, "task": vm.Task}

// cap plans the counter of one cap for the actions that it covers.
func (e *emitter) cap(one *Cap) {
	next := e.NewLabel()
	key, unit := keyCapCount, "intents"
	var limit amount.Amount
	if one.Count != nil {
		limit = amount.FromUint64(one.Count.N)
		e.at(one.Count.Span)
	} else {
		key, unit, limit = keyCapSum, "USD", one.SumUSD.Amount
		e.at(one.SumUSD.Span)
	}
	rule := key.ruleOf(one.Name)
	c := counterOf(key, unit, windows[one.Window.Text], limit)
	c.Name = one.counterName(rule)
	e.scope(one.Action.Text, next)
	if c.Window == vm.Task {
		e.byTask(&c, rule, "the cap counts by task, and the intent has no task_id", next)
	}
	if one.Group != nil {
		e.byGroup(&c, rule, one.Group.Text, next)
	}
	if one.Amount != nil {
		e.sumOf(&c, rule, one.Amount.Text, next)
	}
	c.Rule = e.Rule(vm.Rule{Name: rule, Code: string(key.Code), Message: "the intents that this cap counts reach its limit"})
	e.Reserve(e.Counter(c))
	e.Place(next)
}

// counterName returns the name of the cap's counter: its rule, with all that makes it another counter. Limit and window
// are no part of it: a counter goes on where they change.
func (c *Cap) counterName(rule string) string {
	name := rule + "[action=" + c.Action.Text
	if c.Group != nil {
		name += ",group_by=" + c.Group.Text
	}
	return name + "]"
}

// byTask lets a counter count by task, and denies intents without one.
func (e *emitter) byTask(c *vm.Counter, rule, message string, next vm.Label) {
	has := e.NewLabel()
	c.Group, c.GroupName = e.Field(slotTaskID), slotTaskID
	e.Kind(vm.Unless, c.Group, absent, has)
	e.deny(rule, errcode.TaskIDRequired, message, e.value(slotTaskID), next)
	e.Place(has)
}

// byGroup lets a counter count by the value of a field, within the task where it counts by task, and denies intents
// whose value is no single text.
func (e *emitter) byGroup(c *vm.Counter, rule, path string, next vm.Label) {
	group := e.Field(slot.Canonical(path))
	if c.Group == vm.NoSlot {
		c.Group, c.GroupName = group, path
	} else {
		c.Subgroup, c.SubgroupName = group, path
	}
	if path == slotAction { // which every intent has
		return
	}
	has := e.NewLabel()
	e.Kind(vm.If, group, vm.Kinds(vm.String, vm.Number, vm.Bool), has)
	e.deny(rule, errcode.AggregateField, path+" is missing or no single value, and the cap groups by it", vm.Blame{Slot: group}, next)
	e.Place(has)
}

// sumOf lets a counter add up the amount of a field, and denies intents whose value is none.
func (e *emitter) sumOf(c *vm.Counter, rule, path string, next vm.Label) {
	bad, valid, value := e.NewLabel(), e.NewLabel(), e.Field(slot.Canonical(path))
	c.Op, c.Amount, c.Decimals = vm.Sum, value, sumDecimals
	e.Kind(vm.Unless, value, vm.Kinds(vm.String), bad)
	e.Load(1, value, sumDecimals, valid)
	e.Place(bad)
	e.deny(rule, errcode.AggregateField, path+" is missing, or no decimal string, and the cap adds it up", vm.Blame{Slot: value}, next)
	e.Place(valid)
}

// counterOf returns a counter of uses, named as its rule, with a limit in some unit. Who adds up amounts or counts by groups says so.
func counterOf(key *Key, unit string, window vm.Window, limit amount.Amount) vm.Counter {
	return vm.Counter{Name: key.Rule, Op: vm.Count, Limit: limit, Unit: unit, Amount: vm.NoSlot, Window: window, Group: vm.NoSlot, Subgroup: vm.NoSlot}
}

// reserve plans a counter whose name is its rule.
func (e *emitter) reserve(c vm.Counter, refusal errcode.Code, message string) {
	c.Rule = e.Rule(vm.Rule{Name: c.Name, Code: string(refusal), Message: message})
	e.Reserve(e.Counter(c))
}
