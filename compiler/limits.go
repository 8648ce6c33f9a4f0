package compiler

import (
	"strings"

	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
	"bailiff/vm/slot/derived"
)

// SoftLimits is the section `## soft_limits`. Version 1.x only informs.
type SoftLimits struct {
	Heading
	Controls
	DailyEVM   *Limit       // in wei
	DailyFee   *Limit       // in wei
	DailyToken []DailyToken // in the order of their lines
	DailyCalls *Count
	Caps       []*Cap // in the order of their first lines

	caps  map[string]*Cap  // by name
	daily []*grammar.Entry // the limits of tokens, which need their decimals
}

// DailyToken is one line `daily_token.<SYM>`.
type DailyToken struct {
	Token *Token
	Most  *Limit // in base units of the token
}

// limits reports whether the section limits anything.
func (s *SoftLimits) limits() bool {
	return s != nil && (s.DailyEVM != nil || s.DailyFee != nil || len(s.DailyToken) > 0 || s.DailyCalls != nil || len(s.Caps) > 0)
}

// The types of values that only these sections have.
var (
	budgets = amounts(spendDecimals, "a budget in USD has")
)

var (
	keyDailyEVM = key(nativeAmounts, func(s *SoftLimits) **Limit { return &s.DailyEVM }, Key{Name: "daily_evm_limit_eth", Unit: "ETH",
		Code:    errcode.AggregateLimit,
		Doc:     "How much ETH the key may move in one day (UTC), native amounts only. Version 1.x only informs.",
		Example: "daily_evm_limit_eth: 5"})

	keyDailyFee = key(nativeAmounts, func(s *SoftLimits) **Limit { return &s.DailyFee }, Key{Name: "daily_fee_eth", Unit: "ETH", Since: v24,
		Code: errcode.AggregateLimit, Codes: []errcode.Code{errcode.AmountRequired},
		zero:    hintNoFee,
		Doc:     "How much the key's intents may declare as `maxFee` in one day (UTC), all chains together, in the chains' native unit. An intent has to declare it then.",
		Example: "daily_fee_eth: 0.1"})

	keyDailyToken = keyRead(TypeDecimal, (*checker).readDailyToken, Key{Name: "daily_token.<SYM>", Since: v24,
		Code: errcode.AggregateLimit,
		Doc: "How much of a token, in its own unit, the key may move or let others move in one day (UTC), on all chains together: what token intents declare, and otherwise what call data moves or approves on the token's contracts. " +
			"`## evm` has to have a rule for the token.",
		Example: "daily_token.USDC: 1000"})

	keyDailyCalls = key(counts, func(s *SoftLimits) **Count { return &s.DailyCalls }, Key{Name: "daily_tool_calls", Unit: "tool calls",
		Code:    errcode.AggregateLimit,
		Doc:     "How many tool and MCP calls the key may make in one day (UTC). Version 1.x only informs.",
		Example: "daily_tool_calls: 500"})

	keySoftApproval = approvalKey(func(s *SoftLimits) *Controls { return &s.Controls }, "all kinds of intents", "deploy")

	keySoftShim = shimKey(func(s *SoftLimits) *Controls { return &s.Controls }, "all intents")
)

var softLimits = section[SoftLimits]("soft_limits", v10, "Caps by day, hour or task.",
	keyDailyEVM, keyDailyFee, keyDailyToken, keyDailyCalls, keyCapCount, keyCapSum, keySoftCapWindow, keySoftCapAction,
	keySoftCapGroupBy, keySoftCapAmountField, keySoftApproval, keySoftShim,
	reservedLimit("window_days", "7"), reservedLimit("window_hours", "12"), reservedLimit("timezone", "UTC"),
	reservedLimit("cap.<name>.window_days", "7"), reservedLimit("cap.<name>.window_hours", "12"), reservedLimit("cap.<name>.timezone", "UTC"))

// reservedLimit returns the row of a key that the format sets aside.
func reservedLimit(name, value string) *Key {
	example := strings.Replace(name, "<name>", "deploys", 1) + ": " + value
	return keyRead(TypeText, nil, Key{Name: name, Reserved: true, Doc: "Reserved by the format; not supported yet.", Example: example})
}

// ExecutionLimits is the section `## execution_limits`.
type ExecutionLimits struct {
	Heading
	Controls
	CallsPerTask  *Count
	CallsPerHour  *Count
	SpendPerTask  *Limit // with six decimals
	TokensPerTask *Count
}

var (
	keyPerTask = key(counts, func(s *ExecutionLimits) **Count { return &s.CallsPerTask }, Key{Name: "max_tool_calls_per_task", Unit: "tool calls",
		Code: errcode.LoopLimitExceeded, Codes: []errcode.Code{errcode.TaskIDRequired},
		Doc:     "How many tool and MCP calls one `task_id` may make; an intent without one is denied.",
		Example: "max_tool_calls_per_task: 200"})

	keyPerHour = key(counts, func(s *ExecutionLimits) **Count { return &s.CallsPerHour }, Key{Name: "max_tool_calls_per_hour", Unit: "tool calls",
		Code:    errcode.LoopLimitExceeded,
		Doc:     "How many tool and MCP calls the key may make in one hour (UTC).",
		Example: "max_tool_calls_per_hour: 1000"})

	keySpend = key(budgets, func(s *ExecutionLimits) **Limit { return &s.SpendPerTask }, Key{Name: "max_model_spend_usd_per_task", Unit: "USD",
		Code: errcode.ModelSpend, Codes: []errcode.Code{errcode.TaskIDRequired, errcode.ModelUsage},
		Doc:     "How much one task may spend on models, in USD with at most six fraction digits; it binds every intent.",
		Example: "max_model_spend_usd_per_task: 2.50"})

	keyTokens = key(counts, func(s *ExecutionLimits) **Count { return &s.TokensPerTask }, Key{Name: "max_model_tokens_per_task", Unit: "tokens",
		Code: errcode.ModelTokens, Codes: []errcode.Code{errcode.TaskIDRequired, errcode.ModelUsage},
		Doc:     "How many model tokens one task may use; it binds every intent.",
		Example: "max_model_tokens_per_task: 100000"})

	keyExecutionApproval = approvalKey(func(s *ExecutionLimits) *Controls { return &s.Controls }, "all kinds of intents", "deploy")

	keyExecutionShim = shimKey(func(s *ExecutionLimits) *Controls { return &s.Controls }, "all intents")
)

var executionLimits = section[ExecutionLimits]("execution_limits", v10, "Ceilings on tool calls and model use.",
	keyPerTask, keyPerHour, keySpend, keyTokens, keyExecutionApproval, keyExecutionShim)

// limits reports whether the section limits anything.
func (l *ExecutionLimits) limits() bool {
	return l != nil && (l.CallsPerTask != nil || l.CallsPerHour != nil || l.budgets())
}

func (s *SoftLimits) enforces(from20 bool) bool      { return from20 && s.limits() }
func (l *ExecutionLimits) enforces(from20 bool) bool { return l.budgets() || from20 && l.limits() }

// budgets reports whether a model budget is declared.
func (l *ExecutionLimits) budgets() bool {
	return l != nil && (l.SpendPerTask != nil || l.TokensPerTask != nil)
}

// readDailyToken keeps an entry until the decimals of its token are known.
func (c *checker) readDailyToken(_ *Key, entry *grammar.Entry) {
	soft := part[SoftLimits](c.parts)
	soft.daily = append(soft.daily, entry)
}

// finishDailyTokens reads the daily limits of tokens by their rules.
func (c *checker) finishDailyTokens() {
	soft, evm := part[SoftLimits](c.parts), part[EVM](c.parts)
	if soft == nil {
		return
	}
	seen := map[*Token]bool{}
	for _, entry := range soft.daily {
		symbol := entry.Key.Segments[1]
		token := evm.token(symbol.Text)
		switch {
		case token == nil && !c.lostPart("evm", symbol.Text):
			c.add(grammar.At(codes.TokenUnknown, symbol.Span, "no rule of `## evm` is for token `%s`", Shorten(symbol.Text)).
				WithHint("add `token.%s.decimals` and `token.%s.max_transaction` there", Shorten(symbol.Text), Shorten(symbol.Text)))
			continue
		case token == nil:
			continue
		case token.Symbol != symbol.Text:
			c.add(grammar.At(codes.SymbolCase, symbol.Span, "`%s` and `%s` differ only in case, and are one token", symbol.Text, token.Symbol).
				WithHint("spell it `%s` everywhere", token.Symbol).WithFix(symbol.Span, token.Symbol))
		}
		if most := c.tokenLimit(keyDailyToken, token, entry); most != nil && !seen[token] {
			seen[token] = true
			soft.DailyToken = append(soft.DailyToken, DailyToken{token, most})
		}
	}
	c.partial = c.partial || c.found.HasErrors()
}

func (l *ExecutionLimits) counters(e *emitter) (steps []step) {
	if l.CallsPerTask != nil || l.CallsPerHour != nil {
		steps = append(steps, only(e.callLimits, vm.Tool, vm.MCP))
	}
	if l.budgets() {
		steps = append(steps, step{shared: e.budgets})
	}
	return steps
}

func (s *SoftLimits) counters(e *emitter) (steps []step) {
	if !e.version.AtLeast(2, 0) {
		return nil // version 1.x only informs
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
	l := part[ExecutionLimits](e.parts)
	if l.CallsPerTask != nil {
		e.at(l.CallsPerTask.Span)
		next := e.NewLabel()
		c := counterOf(keyPerTask, vm.Task, amount.FromUint64(l.CallsPerTask.N))
		e.byTask(&c, keyPerTask.Rule, "the policy limits tool calls per task, and the intent has no task_id", next)
		e.reserve(c, keyPerTask.Code, "the tool calls of this task reach the limit")
		e.Place(next)
	}
	if l.CallsPerHour != nil {
		e.at(l.CallsPerHour.Span)
		c := counterOf(keyPerHour, vm.Hour, amount.FromUint64(l.CallsPerHour.N))
		e.reserve(c, keyPerHour.Code, "the tool calls of this hour reach the limit")
	}
}

// budgets plans the counters of what a task spends on models.
func (e *emitter) budgets() {
	l := part[ExecutionLimits](e.parts)
	if l.SpendPerTask != nil {
		e.at(l.SpendPerTask.Span)
		c := counterOf(keySpend, vm.Task, l.SpendPerTask.Amount)
		c.Decimals = spendDecimals
		e.budget(c, keySpend, derived.Spend, "metadata.model_usage does not say what the task has spent", "what the task has spent on models is above the budget")
	}
	if l.TokensPerTask != nil {
		e.at(l.TokensPerTask.Span)
		c := counterOf(keyTokens, vm.Task, amount.FromUint64(l.TokensPerTask.N))
		e.budget(c, keyTokens, derived.Tokens, "metadata.model_usage does not say how many tokens the task has used", "the model tokens of the task are above the budget")
	}
}

// budget plans a counter that rises to what the intent reports. Where one that is not a model's brings no usage, the plan
// asks for what was seen for its task (ledger.Reservation).
func (e *emitter) budget(c vm.Counter, key *Key, slot, unknown, above string) {
	next, others, known := e.NewLabel(), e.NewLabel(), e.NewLabel()
	e.byTask(&c, key.Rule, "the policy limits what a task uses of models, and the intent has no task_id", next)
	c.Op, c.Amount = vm.Max, e.Field(slot)
	e.Test(vm.OpIn, vm.Unless, e.Field(derived.Action), e.exactly(ModelAction), others)
	e.Kind(vm.Unless, c.Amount, absent, known)
	e.deny(key.Rule, errcode.ModelUsage, unknown, e.value(slot), next)
	e.Place(others)
	e.Kind(vm.Unless, c.Amount, absent, known)
	e.Kind(vm.If, e.Field(derived.Usage), absent, known) // what was seen of the task counts
	e.deny(key.Rule, errcode.ModelUsage, unknown, e.value(derived.Usage), next)
	e.Place(known)
	e.reserve(c, key.Code, above)
	e.Place(next)
}

// dailyEVM plans the counter of a day's native amounts. What is no amount has been denied.
func (e *emitter) dailyEVM() {
	limit := part[SoftLimits](e.parts).DailyEVM
	count, next := e.NewLabel(), e.NewLabel()
	c := counterOf(keyDailyEVM, vm.Day, limit.Amount)
	c.Op, c.Amount, c.Decimals = vm.Sum, e.Field(derived.Amount), NativeDecimals
	e.at(limit.Span)
	e.Kind(vm.Unless, e.Field(derived.Token), absent, next)
	if !e.version.AtLeast(2, 1) { // from then on a missing amount has been denied
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
	limit := part[SoftLimits](e.parts).DailyFee
	given, count, next := e.NewLabel(), e.NewLabel(), e.NewLabel()
	c := counterOf(keyDailyFee, vm.Day, limit.Amount)
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
	limits := part[SoftLimits](e.parts).DailyToken
	next := e.NewLabel()
	cases := make([]vm.Case, len(limits))
	for i, limit := range limits {
		cases[i] = vm.Case{Text: strings.ToLower(limit.Token.Symbol), To: e.NewLabel()}
	}
	e.at(limits[0].Most.Span)
	e.Switch(e.Field(derived.Moved), next, cases...)
	for i, limit := range limits {
		e.Place(cases[i].To)
		e.at(limit.Most.Span)
		rule := keyDailyToken.ruleOf(limit.Token.Symbol)
		c := counterOf(keyDailyToken, vm.Day, limit.Most.Amount)
		c.Unit = limit.Token.Symbol
		c.Name = keyDailyToken.ruleOf(cases[i].Text) // the symbol's case makes no other counter
		c.Op, c.Amount, c.Decimals = vm.Sum, e.Field(derived.MovedAmount), limit.Most.Decimals
		c.Rule = e.Rule(vm.Rule{Name: rule, Code: string(keyDailyToken.Code), Message: "what is moved of the token on this day (UTC) reaches " + rule})
		e.Reserve(e.Counter(c))
		e.Jump(next)
	}
	e.Place(next)
}

func (e *emitter) dailyCalls() {
	limit := part[SoftLimits](e.parts).DailyCalls
	e.at(limit.Span)
	c := counterOf(keyDailyCalls, vm.Day, amount.FromUint64(limit.N))
	e.reserve(c, keyDailyCalls.Code, "the tool calls of this day (UTC) reach soft_limits.daily_tool_calls")
}
