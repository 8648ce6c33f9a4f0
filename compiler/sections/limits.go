package sections

import (
	"strings"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
	"bailiff/vm/slot"
	"bailiff/vm/slot/derived"
)

// SoftLimits is the section `## soft_limits`. Version 1.x only informs.
type SoftLimits struct {
	frame.Heading
	frame.Controls
	DailyEVM   *frame.Limit // in wei
	DailyFee   *frame.Limit // in wei
	DailyToken []DailyToken // in the order of their lines
	DailyCalls *frame.Count
	Caps       []*Cap // in the order of their first lines

	caps  map[string]*Cap  // by name
	daily []*grammar.Entry // the limits of tokens, which need their decimals
}

// DailyToken is one line `daily_token.<SYM>`.
type DailyToken struct {
	Token *Token
	Most  *frame.Limit // in base units of the token
}

// Limits reports whether the section limits anything.
func (s *SoftLimits) Limits() bool {
	return s != nil && (s.DailyEVM != nil || s.DailyFee != nil || len(s.DailyToken) > 0 || s.DailyCalls != nil || len(s.Caps) > 0)
}

// The types of values that only these sections have.
var (
	budgets = frame.Amounts(spendDecimals, "a budget in USD has")
)

var (
	keyDailyEVM = frame.NewKey(frame.NativeAmounts, func(s *SoftLimits) **frame.Limit { return &s.DailyEVM }, frame.Key{Name: "daily_evm_limit_eth", Unit: "ETH",
		Code:    errcode.AggregateLimit,
		Doc:     "How much ETH the key may move in one day (UTC), native amounts only. Version 1.x only informs.",
		Example: "daily_evm_limit_eth: 5"})

	keyDailyFee = frame.NewKey(frame.NativeAmounts, func(s *SoftLimits) **frame.Limit { return &s.DailyFee }, frame.Key{Name: "daily_fee_eth", Unit: "ETH", Since: frame.V24,
		Code: errcode.AggregateLimit, Codes: []errcode.Code{errcode.AmountRequired},
		Zero:    frame.HintNoFee,
		Doc:     "How much the key's intents may declare as `maxFee` in one day (UTC), all chains together, in the chains' native unit. An intent has to declare it then.",
		Example: "daily_fee_eth: 0.1"})

	keyDailyToken = frame.NewKeyFunc(frame.TypeDecimal, readDailyToken, frame.Key{Name: "daily_token.<SYM>", Since: frame.V24,
		Code: errcode.AggregateLimit,
		Doc: "How much of a token, in its own unit, the key may move or let others move in one day (UTC), on all chains together: what token intents declare, and otherwise what call data moves or approves on the token's contracts. " +
			"`## evm` has to have a rule for the token.",
		Example: "daily_token.USDC: 1000"})

	keyDailyCalls = frame.NewKey(frame.Counts, func(s *SoftLimits) **frame.Count { return &s.DailyCalls }, frame.Key{Name: "daily_tool_calls", Unit: "tool calls",
		Code:    errcode.AggregateLimit,
		Doc:     "How many tool and MCP calls the key may make in one day (UTC). Version 1.x only informs.",
		Example: "daily_tool_calls: 500"})

	keySoftApproval = frame.ApprovalKey(func(s *SoftLimits) *frame.Controls { return &s.Controls }, "all kinds of intents", "deploy")

	keySoftShim = frame.ShimKey(func(s *SoftLimits) *frame.Controls { return &s.Controls }, "all intents")
)

// SoftLimitsSection is the row of `## soft_limits`.
var SoftLimitsSection = frame.NewSection[SoftLimits]("soft_limits", frame.V10, "Caps by day, hour or task.",
	keyDailyEVM, keyDailyFee, keyDailyToken, keyDailyCalls, keyCapCount, keyCapSum, keySoftCapWindow, keySoftCapAction,
	keySoftCapGroupBy, keySoftCapAmountField, keySoftApproval, keySoftShim,
	reservedLimit("window_days", "7"), reservedLimit("window_hours", "12"), reservedLimit("timezone", "UTC"),
	reservedLimit("cap.<name>.window_days", "7"), reservedLimit("cap.<name>.window_hours", "12"), reservedLimit("cap.<name>.timezone", "UTC"))

// reservedLimit returns the row of a key that the format sets aside.
func reservedLimit(name, value string) *frame.Key {
	example := strings.Replace(name, "<name>", "deploys", 1) + ": " + value
	return frame.NewKeyFunc(frame.TypeText, nil, frame.Key{Name: name, Reserved: true, Doc: "Reserved by the format; not supported yet.", Example: example})
}

// ExecutionLimits is the section `## execution_limits`.
type ExecutionLimits struct {
	frame.Heading
	frame.Controls
	CallsPerTask  *frame.Count
	CallsPerHour  *frame.Count
	SpendPerTask  *frame.Limit // with six decimals
	TokensPerTask *frame.Count
}

var (
	keyPerTask = frame.NewKey(frame.Counts, func(s *ExecutionLimits) **frame.Count { return &s.CallsPerTask }, frame.Key{Name: "max_tool_calls_per_task", Unit: "tool calls",
		Code: errcode.LoopLimitExceeded, Codes: []errcode.Code{errcode.TaskIDRequired},
		Doc:     "How many tool and MCP calls one `task_id` may make; an intent without one is denied.",
		Example: "max_tool_calls_per_task: 200"})

	keyPerHour = frame.NewKey(frame.Counts, func(s *ExecutionLimits) **frame.Count { return &s.CallsPerHour }, frame.Key{Name: "max_tool_calls_per_hour", Unit: "tool calls",
		Code:    errcode.LoopLimitExceeded,
		Doc:     "How many tool and MCP calls the key may make in one hour (UTC).",
		Example: "max_tool_calls_per_hour: 1000"})

	// KeySpend is the key max_model_spend_usd_per_task. Its counter, in millionths of a USD, and that of KeyTokens take what a
	// task reports whether or not the policy has a budget.
	KeySpend = frame.NewKey(budgets, func(s *ExecutionLimits) **frame.Limit { return &s.SpendPerTask }, frame.Key{Name: "max_model_spend_usd_per_task", Unit: "USD",
		Code: errcode.ModelSpend, Codes: []errcode.Code{errcode.TaskIDRequired, errcode.ModelUsage},
		Doc:     "How much one task may spend on models, in USD with at most six fraction digits; it binds every intent.",
		Example: "max_model_spend_usd_per_task: 2.50"})

	// KeyTokens is the key max_model_tokens_per_task.
	KeyTokens = frame.NewKey(frame.Counts, func(s *ExecutionLimits) **frame.Count { return &s.TokensPerTask }, frame.Key{Name: "max_model_tokens_per_task", Unit: "tokens",
		Code: errcode.ModelTokens, Codes: []errcode.Code{errcode.TaskIDRequired, errcode.ModelUsage},
		Doc:     "How many model tokens one task may use; it binds every intent.",
		Example: "max_model_tokens_per_task: 100000"})

	keyExecutionApproval = frame.ApprovalKey(func(s *ExecutionLimits) *frame.Controls { return &s.Controls }, "all kinds of intents", "deploy")

	keyExecutionShim = frame.ShimKey(func(s *ExecutionLimits) *frame.Controls { return &s.Controls }, "all intents")
)

// ExecutionLimitsSection is the row of `## execution_limits`.
var ExecutionLimitsSection = frame.NewSection[ExecutionLimits]("execution_limits", frame.V10, "Ceilings on tool calls and model use.",
	keyPerTask, keyPerHour, KeySpend, KeyTokens, keyExecutionApproval, keyExecutionShim)

// Limits reports whether the section limits anything.
func (l *ExecutionLimits) Limits() bool {
	return l != nil && (l.CallsPerTask != nil || l.CallsPerHour != nil || l.budgets())
}

// Enforces implements [frame.Enforcing].
func (s *SoftLimits) Enforces(from20 bool) bool { return from20 && s.Limits() }

// Enforces implements [frame.Enforcing].
func (l *ExecutionLimits) Enforces(from20 bool) bool { return l.budgets() || from20 && l.Limits() }

// budgets reports whether a model budget is declared.
func (l *ExecutionLimits) budgets() bool {
	return l != nil && (l.SpendPerTask != nil || l.TokensPerTask != nil)
}

// readDailyToken keeps an entry until the decimals of its token are known.
func readDailyToken(c *frame.Checker, _ *frame.Key, entry *grammar.Entry) {
	soft := frame.Part[SoftLimits](c.Parts)
	soft.daily = append(soft.daily, entry)
}

// FinishDailyTokens reads the daily limits of tokens by their rules.
func FinishDailyTokens(c *frame.Checker) {
	soft, evm := frame.Part[SoftLimits](c.Parts), frame.Part[EVM](c.Parts)
	if soft == nil {
		return
	}
	seen := map[*Token]bool{}
	for _, entry := range soft.daily {
		symbol := entry.Key.Segments[1]
		token := evm.token(symbol.Text)
		switch {
		case token == nil && !c.LostPart("evm", symbol.Text):
			c.Add(grammar.At(codes.TokenUnknown, symbol.Span, "no rule of `## evm` is for token `%s`", frame.Shorten(symbol.Text)).
				WithHint("add `token.%s.decimals` and `token.%s.max_transaction` there", frame.Shorten(symbol.Text), frame.Shorten(symbol.Text)))
			continue
		case token == nil:
			continue
		case token.Symbol != symbol.Text:
			c.Add(grammar.At(codes.SymbolCase, symbol.Span, "`%s` and `%s` differ only in case, and are one token", symbol.Text, token.Symbol).
				WithHint("spell it `%s` everywhere", token.Symbol).WithFix(symbol.Span, token.Symbol))
		}
		if most := tokenLimit(c, keyDailyToken, token, entry); most != nil && !seen[token] {
			seen[token] = true
			soft.DailyToken = append(soft.DailyToken, DailyToken{token, most})
		}
	}
	c.Partial = c.Partial || c.Found.HasErrors()
}

// Counters implements [frame.Counting].
func (l *ExecutionLimits) Counters(e *frame.Emitter) (steps []frame.Step) {
	if l.CallsPerTask != nil || l.CallsPerHour != nil {
		steps = append(steps, frame.Only(func() { callLimits(e) }, vm.Tool, vm.MCP))
	}
	if l.budgets() {
		steps = append(steps, frame.Step{Shared: func() { emitBudgets(e) }})
	}
	return steps
}

// Counters implements [frame.Counting].
func (s *SoftLimits) Counters(e *frame.Emitter) (steps []frame.Step) {
	if !e.Version.AtLeast(2, 0) {
		return nil // version 1.x only informs
	}
	if s.DailyEVM != nil {
		steps = append(steps, frame.Only(func() { dailyEVM(e) }, vm.EVM))
	}
	if s.DailyFee != nil {
		steps = append(steps, frame.Only(func() { dailyFee(e) }, vm.EVM))
	}
	if len(s.DailyToken) > 0 {
		steps = append(steps, frame.Only(func() { dailyTokens(e) }, vm.EVM))
	}
	if s.DailyCalls != nil {
		steps = append(steps, frame.Only(func() { dailyCalls(e) }, vm.Tool, vm.MCP))
	}
	if len(s.Caps) > 0 {
		steps = append(steps, frame.Step{Shared: func() { caps(e) }})
	}
	return steps
}

// callLimits plans the counters of tool calls.
func callLimits(e *frame.Emitter) {
	l := frame.Part[ExecutionLimits](e.Parts)
	if l.CallsPerTask != nil {
		e.At(l.CallsPerTask.Span)
		next := e.NewLabel()
		c := frame.CounterOf(keyPerTask, vm.Task, amount.FromUint64(l.CallsPerTask.N))
		e.ByTask(&c, keyPerTask.Rule, "the policy limits tool calls per task, and the intent has no task_id", next)
		e.ReserveBy(c, keyPerTask.Code, "the tool calls of this task reach the limit")
		e.Place(next)
	}
	if l.CallsPerHour != nil {
		e.At(l.CallsPerHour.Span)
		c := frame.CounterOf(keyPerHour, vm.Hour, amount.FromUint64(l.CallsPerHour.N))
		e.ReserveBy(c, keyPerHour.Code, "the tool calls of this hour reach the limit")
	}
}

// emitBudgets plans the counters of what a task spends on models.
func emitBudgets(e *frame.Emitter) {
	l := frame.Part[ExecutionLimits](e.Parts)
	if l.SpendPerTask != nil {
		e.At(l.SpendPerTask.Span)
		c := frame.CounterOf(KeySpend, vm.Task, l.SpendPerTask.Amount)
		c.Decimals = spendDecimals
		budget(e, c, KeySpend, derived.Spend, "metadata.model_usage does not say what the task has spent", "what the task has spent on models is above the budget")
	}
	if l.TokensPerTask != nil {
		e.At(l.TokensPerTask.Span)
		c := frame.CounterOf(KeyTokens, vm.Task, amount.FromUint64(l.TokensPerTask.N))
		budget(e, c, KeyTokens, derived.Tokens, "metadata.model_usage does not say how many tokens the task has used", "the model tokens of the task are above the budget")
	}
}

// budget plans a counter that rises to what the intent reports. Where one that is not a model's brings no usage, the plan
// asks for what was seen for its task (ledger.Reservation).
func budget(e *frame.Emitter, c vm.Counter, key *frame.Key, field, unknown, above string) {
	next, others, known := e.NewLabel(), e.NewLabel(), e.NewLabel()
	e.ByTask(&c, key.Rule, "the policy limits what a task uses of models, and the intent has no task_id", next)
	c.Op, c.Amount = vm.Max, e.Field(field)
	e.Test(vm.OpIn, vm.Unless, e.Field(derived.Action), e.Exactly(slot.ModelAction), others)
	e.Kind(vm.Unless, c.Amount, frame.Absent, known)
	e.DenyBy(key.Rule, errcode.ModelUsage, unknown, e.Value(field), next)
	e.Place(others)
	e.Kind(vm.Unless, c.Amount, frame.Absent, known)
	e.Kind(vm.If, e.Field(derived.Usage), frame.Absent, known) // what was seen of the task counts
	e.DenyBy(key.Rule, errcode.ModelUsage, unknown, e.Value(derived.Usage), next)
	e.Place(known)
	e.ReserveBy(c, key.Code, above)
	e.Place(next)
}

// dailyEVM plans the counter of a day's native amounts. What is no amount has been denied.
func dailyEVM(e *frame.Emitter) {
	limit := frame.Part[SoftLimits](e.Parts).DailyEVM
	count, next := e.NewLabel(), e.NewLabel()
	c := frame.CounterOf(keyDailyEVM, vm.Day, limit.Amount)
	c.Op, c.Amount, c.Decimals = vm.Sum, e.Field(derived.Amount), frame.NativeDecimals
	e.At(limit.Span)
	e.Kind(vm.Unless, e.Field(derived.Token), frame.Absent, next)
	if !e.Version.AtLeast(2, 1) { // from then on a missing amount has been denied
		e.Kind(vm.If, c.Amount, frame.Absent, count)
	}
	e.Load(0, c.Amount, frame.NativeDecimals, count)
	e.Jump(next)
	e.Place(count)
	e.ReserveBy(c, keyDailyEVM.Code, "the native amounts of this day (UTC) reach soft_limits.daily_evm_limit_eth")
	e.Place(next)
}

// dailyFee plans the counter of a day's fees, as far as intents declare them. What is no amount has been denied.
func dailyFee(e *frame.Emitter) {
	limit := frame.Part[SoftLimits](e.Parts).DailyFee
	given, count, next := e.NewLabel(), e.NewLabel(), e.NewLabel()
	c := frame.CounterOf(keyDailyFee, vm.Day, limit.Amount)
	c.Op, c.Amount, c.Decimals = vm.Sum, e.Field(frame.SlotMaxFee), frame.NativeDecimals
	e.At(limit.Span)
	e.Kind(vm.Unless, c.Amount, frame.Absent, given)
	e.DenyBy(keyDailyFee.Rule, errcode.AmountRequired, "the policy limits fees, and maxFee is missing; declare the most that gas may cost", e.Value(frame.SlotMaxFee), next)
	e.Place(given)
	e.Load(1, c.Amount, frame.NativeDecimals, count)
	e.Jump(next)
	e.Place(count)
	e.ReserveBy(c, keyDailyFee.Code, "the fees of this day (UTC) reach soft_limits.daily_fee_eth")
	e.Place(next)
}

// dailyTokens plans the counters of what is moved of tokens in a day.
func dailyTokens(e *frame.Emitter) {
	limits := frame.Part[SoftLimits](e.Parts).DailyToken
	next := e.NewLabel()
	cases := make([]vm.Case, len(limits))
	for i, limit := range limits {
		cases[i] = vm.Case{Text: strings.ToLower(limit.Token.Symbol), To: e.NewLabel()}
	}
	e.At(limits[0].Most.Span)
	e.Switch(e.Field(derived.Moved), next, cases...)
	for i, limit := range limits {
		e.Place(cases[i].To)
		e.At(limit.Most.Span)
		rule := keyDailyToken.RuleOf(limit.Token.Symbol)
		c := frame.CounterOf(keyDailyToken, vm.Day, limit.Most.Amount)
		c.Unit = limit.Token.Symbol
		c.Name = keyDailyToken.RuleOf(cases[i].Text) // the symbol's case makes no other counter
		c.Op, c.Amount, c.Decimals = vm.Sum, e.Field(derived.MovedAmount), limit.Most.Decimals
		c.Rule = e.Rule(vm.Rule{Name: rule, Code: string(keyDailyToken.Code), Message: "the amount of the token that is moved on this day (UTC) reaches " + rule})
		e.Reserve(e.Counter(c))
		e.Jump(next)
	}
	e.Place(next)
}

func dailyCalls(e *frame.Emitter) {
	limit := frame.Part[SoftLimits](e.Parts).DailyCalls
	e.At(limit.Span)
	c := frame.CounterOf(keyDailyCalls, vm.Day, amount.FromUint64(limit.N))
	e.ReserveBy(c, keyDailyCalls.Code, "the tool calls of this day (UTC) reach soft_limits.daily_tool_calls")
}
