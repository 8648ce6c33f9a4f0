package oracle

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"bailiff/grammar"
	"bailiff/vm/errcode"
)

// spendBudget is the one budget that is about dollars.
const spendBudget = "execution_limits.max_model_spend_usd_per_task"

// The windows of counters and the ways they change.
const (
	hour, day, task = "hour", "day", "task"
	count, sum, top = "count", "sum", "max"
)

// executionLimits is step 7: "the impact limits of profiles, then `execution_limits`".
func (j *judgement) executionLimits() {
	j.impactLimits()
	if j.kind == toolIntent || j.kind == mcpIntent { // "Tool-call execution limits count tool and MCP intents"
		j.toolCallLimits()
	}
	j.modelBudgets()
}

// impactLimits: "Per-task limits bind the profile's intents, also where there is nothing to add; without `task_id`
// they answer TASK_ID_REQUIRED."
func (j *judgement) impactLimits() {
	if j.filesystemGoverns() {
		e, fault := j.evidence()
		if fault != "" {
			e = evidence{} // denied already; what is left to find is a missing task id
		}
		j.impact("filesystem.max_bytes_written_per_task", j.p.filesystem, func() *big.Int { return e.bytes(byteEffects) })
		j.impact("filesystem.max_bytes_deleted_per_task", j.p.filesystem, func() *big.Int { return e.bytes(removingEffects) })
		j.impact("filesystem.max_destructive_effects_per_task", j.p.filesystem, e.destroyed)
	}
	if j.gitGoverns() {
		updates := int64(len(j.metadata("git", "ref_updates").elements()))
		j.impact("git.max_ref_changes_per_task", j.p.git, func() *big.Int { return big.NewInt(updates) })
	}
	if j.databaseGoverns() {
		j.impact("database.max_schema_changes_per_task", j.p.database, j.schemaChanges)
	}
}

// impact plans one impact limit, if it is declared. The amount is nil where the evidence does not say how much.
func (j *judgement) impact(rule string, s *section, amount func() *big.Int) {
	_, key, _ := strings.Cut(rule, ".")
	limit := s.number(key, 0)
	if limit == nil {
		return
	}
	if j.task == "" {
		j.deny(rule, errcode.TaskIDRequired)
		return
	}
	adds := amount()
	if adds == nil {
		j.deny(rule, errcode.ImpactLimit)
		return
	}
	j.reserve(Reservation{rule, task, j.task, sum, adds, limit, string(errcode.ImpactLimit), rule})
}

// bytes sums the bytes of all targets where one of the effects is among some, and is nil where "a target's `bytes` is
// missing or no integer of zero or more". Without such an effect it is zero.
func (e evidence) bytes(some []string) *big.Int {
	total := new(big.Int)
	if !e.has(some) {
		return total
	}
	for _, t := range e.targets {
		size := t.node.member("bytes")
		n, ok := integer(size.text)
		if size.kind != numberKind || !ok {
			return nil
		}
		total.Add(total, n)
	}
	return total
}

// destroyed is "the sum of destroying effects times targets"; "a repeated effect is one".
func (e evidence) destroyed() *big.Int {
	destroying := []string{}
	for _, effect := range e.effects {
		if slices.Contains(destroyingEffects, effect) {
			destroying = appendOnce(destroying, effect)
		}
	}
	return big.NewInt(int64(len(destroying)) * int64(len(e.targets)))
}

// toolCallLimits plans the tool-call limits, per task and per hour.
func (j *judgement) toolCallLimits() {
	const perTask, perHour = "execution_limits.max_tool_calls_per_task", "execution_limits.max_tool_calls_per_hour"
	one := big.NewInt(1)
	if limit := j.p.execution.number("max_tool_calls_per_task", 0); limit != nil {
		if j.task == "" {
			j.deny(perTask, errcode.TaskIDRequired)
		} else {
			j.reserve(Reservation{perTask, task, j.task, count, one, limit, string(errcode.LoopLimitExceeded), perTask})
		}
	}
	if limit := j.p.execution.number("max_tool_calls_per_hour", 0); limit != nil {
		j.reserve(Reservation{perHour, hour, "", count, one, limit, string(errcode.LoopLimitExceeded), perHour})
	}
}

// modelBudgets plans the model budgets, which "bind every intent": spend, then tokens.
func (j *judgement) modelBudgets() {
	spend := j.p.execution.number("max_model_spend_usd_per_task", spendDigits)
	j.budget(spendBudget, spend, j.modelSpend(), errcode.ModelSpend)
	tokens := j.p.execution.number("max_model_tokens_per_task", 0)
	j.budget("execution_limits.max_model_tokens_per_task", tokens, j.modelTokens(), errcode.ModelTokens)
}

// budget: "In this order: no `task_id` (TASK_ID_REQUIRED); `metadata.model_usage` absent, or without [what the budget
// reads] (MODEL_USAGE_UNAVAILABLE); the highest value ever seen for the task above the budget." "Where an intent other than a
// model's brings no usage, what was seen for its task counts, once some was seen."
func (j *judgement) budget(rule string, limit, used *big.Int, refusal errcode.Code) {
	brings := j.metadata("model_usage").kind != missingKind
	switch {
	case limit == nil:
	case j.task == "":
		j.deny(rule, errcode.TaskIDRequired)
	case used == nil && (brings || j.kind == modelIntent):
		j.deny(rule, errcode.ModelUsage)
	default:
		j.reserve(Reservation{rule, task, j.task, top, used, limit, string(refusal), rule})
	}
}

// modelSpend is "`estimated_spend_usd` (decimal string of up to 18 fraction digits, rounded up to six)", or nil.
func (j *judgement) modelSpend() *big.Int {
	told := j.metadata("model_usage", "estimated_spend_usd")
	if told.kind != textKind {
		return nil
	}
	spend, ok := decimal(told.text, dollarDigits)
	if !ok {
		return nil
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(dollarDigits-spendDigits), nil)
	micro, rest := new(big.Int).QuoRem(spend, unit, new(big.Int))
	if rest.Sign() > 0 {
		micro.Add(micro, big.NewInt(1))
	}
	return micro
}

// modelTokens is `total_tokens`, "without the last the sum of the others", or nil; "the total is never less than its
// parts".
func (j *judgement) modelTokens() *big.Int {
	tokens := func(name string) *big.Int {
		n, _ := integer(j.metadata("model_usage", name).text)
		return n
	}
	total, parts := tokens("total_tokens"), new(big.Int)
	for _, name := range []string{"input_tokens", "output_tokens"} {
		part := tokens(name)
		if part == nil && total == nil {
			return nil
		}
		if part != nil {
			parts.Add(parts, part)
		}
	}
	if total != nil && total.Cmp(parts) > 0 {
		return total
	}
	return parts
}

// softLimits is step 8, "from 2.0: `daily_evm_limit_eth`, `daily_tool_calls`, then caps in file order". "Under 1.x
// soft limits are informational."
func (j *judgement) softLimits() {
	const ether, calls = "soft_limits.daily_evm_limit_eth", "soft_limits.daily_tool_calls"
	if !j.p.version.AtLeast(2, 0) {
		return
	}
	native := j.kind == evmIntent && !j.has("token") // "native amounts of EVM intents without a token"
	if limit := j.p.soft.number("daily_evm_limit_eth", etherDigits); limit != nil && native && j.nativeAmount() != nil {
		j.reserve(Reservation{ether, day, "", sum, j.nativeAmount(), limit, string(errcode.AggregateLimit), ether})
	}
	if limit := j.p.soft.number("daily_tool_calls", 0); limit != nil && (j.kind == toolIntent || j.kind == mcpIntent) {
		j.reserve(Reservation{calls, day, "", count, big.NewInt(1), limit, string(errcode.AggregateLimit), calls})
	}
	if j.kind == evmIntent {
		j.dailyFees()
		j.dailyTokens()
	}
	for _, c := range j.p.caps {
		if actionPattern(c.action, j.action) {
			j.cap(c)
		}
	}
}

// dailyFees: "`soft_limits.daily_fee_eth` (sums what was declared)", where `maxFee` "is required (AMOUNT_REQUIRED)".
func (j *judgement) dailyFees() {
	const rule = "soft_limits.daily_fee_eth"
	limit, fee := j.p.soft.number("daily_fee_eth", etherDigits), j.fee()
	switch {
	case limit == nil:
	case !j.has("maxFee"):
		j.deny(rule, errcode.AmountRequired)
	case fee == nil:
		j.deny(rule, errcode.AmountInvalid)
	default:
		j.reserve(Reservation{rule, day, "", sum, fee, limit, string(errcode.AggregateLimit), rule})
	}
}

// dailyTokens: "`soft_limits.daily_token.<SYM>`: the most of a token, in its units, per key and UTC day, summed exactly over
// token intents (declared amount) and otherwise every judged method of its pinned contracts".
func (j *judgement) dailyTokens() {
	for _, daily := range j.p.dailyTokens {
		amount := j.movedOf(daily.token)
		if amount == nil {
			continue
		}
		rule := "soft_limits." + daily.key
		limit := j.p.soft.number(daily.key, daily.token.decimals)
		// "The case of a symbol makes no other count" (choices).
		j.reserve(Reservation{asciiLower(rule), day, "", sum, amount, limit, string(errcode.AggregateLimit), rule})
	}
}

// A dailyToken is one `daily_token.<SYM>`.
type dailyToken struct {
	key   string
	token *token
}

// readDailyTokens reads the limits of tokens in file order.
func (p *Policy) readDailyTokens(file *grammar.File) error {
	for _, entry := range entries(file, "soft_limits") {
		segments := entry.Key.Segments
		if len(segments) != 2 || segments[0].Text != "daily_token" {
			continue
		}
		daily := dailyToken{key: entry.Key.String()}
		for i := range p.tokens {
			if asciiLower(p.tokens[i].symbol) == asciiLower(segments[1].Text) {
				daily.token = &p.tokens[i]
			}
		}
		if daily.token == nil {
			return fmt.Errorf("oracle: %s has no token rule", daily.key)
		}
		p.dailyTokens = append(p.dailyTokens, daily)
	}
	return nil
}

// movedOf returns how much of a token the intent moves or lets others move, nil where it is not about that token: the
// declared amount of a token intent, otherwise what declared call data of a pinned contract says; "`daily_token` counts what
// a shim tells of a pinned token where neither the intent nor its call data is about one" (choices).
func (j *judgement) movedOf(t *token) *big.Int {
	if j.has("token") {
		if j.tokenNamed(j.text("token")) != t || !j.has("amount") {
			return nil
		}
		amount, _ := j.amount(t.decimals)
		return amount
	}
	moved, amount := j.calldataMove()
	if moved == nil {
		moved, amount = j.toldMove()
	}
	if moved != t {
		return nil
	}
	return amount
}

// A limitCap is one `cap.<name>`.
type limitCap struct {
	rule, action, window string
	groupBy, amountField string // paths without `intent.`; "" for none
	limit                *big.Int
}

// counter names the counter of a cap "by its rule, its `action` in lower case and its `group_by`".
func (c limitCap) counter() string {
	if c.groupBy == "" {
		return c.rule + "[action=" + asciiLower(c.action) + "]"
	}
	return c.rule + "[action=" + asciiLower(c.action) + ",group_by=" + c.groupBy + "]"
}

// readCaps reads the caps in file order.
func (p *Policy) readCaps(file *grammar.File) error {
	seen := map[string]bool{}
	for _, entry := range entries(file, "soft_limits") {
		segments := entry.Key.Segments
		if len(segments) != 3 || segments[0].Text != "cap" || seen[segments[1].Text] {
			continue
		}
		seen[segments[1].Text] = true
		key := "cap." + segments[1].Text + "."
		c := limitCap{
			rule:        "soft_limits." + key + "max_count",
			action:      p.soft.text(key + "action"),
			window:      p.soft.text(key + "window"),
			groupBy:     dropIntent(p.soft.text(key + "group_by")),
			amountField: dropIntent(p.soft.text(key + "amount_field")),
			limit:       p.soft.number(key+"max_count", 0),
		}
		if p.soft.has(key + "max_sum_usd") {
			c.rule, c.limit = "soft_limits."+key+"max_sum_usd", p.soft.number(key+"max_sum_usd", dollarDigits)
		}
		p.caps = append(p.caps, c)
	}
	return nil
}

// cap plans one cap: "no `task_id` where the window is the task (TASK_ID_REQUIRED); a `group_by` value that is
// missing, an object or a list (AGGREGATE_FIELD_MISSING); an `amount_field` value that is no string, or no decimal of
// at most 18 fraction digits below 2^256 base units (AGGREGATE_FIELD_MISSING)".
func (j *judgement) cap(c limitCap) {
	if c.window == task && j.task == "" {
		j.deny(c.rule, errcode.TaskIDRequired)
		return
	}
	var parts []string
	if c.window == task {
		parts = append(parts, j.task)
	}
	if c.groupBy != "" {
		group, ok := j.groupOf(c.groupBy)
		if !ok {
			j.deny(c.rule, errcode.AggregateField)
			return
		}
		parts = append(parts, group)
	}
	op, amount := count, big.NewInt(1)
	if c.amountField != "" {
		var ok bool
		field := j.at(c.amountField)
		if amount, ok = decimal(field.text, dollarDigits); !ok || field.kind != textKind {
			j.deny(c.rule, errcode.AggregateField)
			return
		}
		op = sum
	}
	group := strings.Join(parts, "\x00")
	j.reserve(Reservation{c.counter(), c.window, group, op, amount, c.limit, string(errcode.AggregateLimit), c.rule})
}

// groupOf returns the normal form of the value that a cap groups by. "What has no normal form is denied … by a cap that
// groups by it."
func (j *judgement) groupOf(path string) (string, bool) {
	group := j.at(path)
	switch {
	case !group.scalar():
		return "", false
	case group.kind != textKind:
		return group.text, true
	}
	return j.formOf(path).normal(group.text)
}

// Usage is what an intent reports of its task's use of models, or the highest reports of a task. A part without a report is nil.
type Usage struct {
	Spend                *big.Int // in millionths of a dollar
	Input, Output, Total *big.Int // tokens
}

// with returns the highest of each part.
func (u Usage) with(o Usage) Usage {
	return Usage{highest(u.Spend, o.Spend), highest(u.Input, o.Input), highest(u.Output, o.Output), highest(u.Total, o.Total)}
}

func highest(a, b *big.Int) *big.Int {
	if a == nil || b != nil && b.Cmp(a) > 0 {
		return b
	}
	return a
}

// tokens is the total, "never less than its parts", nil where nothing is known.
func (u Usage) tokens() *big.Int {
	if u.Input == nil && u.Output == nil {
		return u.Total
	}
	parts := new(big.Int)
	for _, part := range []*big.Int{u.Input, u.Output} {
		if part != nil {
			parts.Add(parts, part)
		}
	}
	return highest(parts, u.Total)
}

// tell fills in the members of the verdict that a Memory needs.
func (j *judgement) tell() {
	j.verdict.Task, j.verdict.Usage = j.task, j.reported()
	if j.has("maxFee") {
		j.verdict.Fee = j.fee()
	}
}

// reported is the usage of the intent at hand, whose parts count for its task one by one.
func (j *judgement) reported() (u Usage) {
	tokens := func(name string) *big.Int {
		n, _ := integer(j.metadata("model_usage", name).text)
		return n
	}
	if j.metadata("model_usage").kind != objectKind {
		return u
	}
	return Usage{Spend: j.modelSpend(), Input: tokens("input_tokens"), Output: tokens("output_tokens"), Total: tokens("total_tokens")}
}
