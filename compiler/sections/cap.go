package sections

import (
	"slices"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
	"bailiff/vm/slot"
)

// capWindows are the windows of caps.
var capWindows = []string{"day", "hour", "task"}

// foreignCaps are names that no cap may have: those of other limits, and what has a meaning of its own in the objects of
// some languages.
var foreignCaps = []string{"__proto__", "constructor", "prototype", "daily_tool_calls", "daily_evm_limit_eth"}

var (
	keyCapCount = capKey(frame.Counts, func(c *Cap) **frame.Count { return &c.Count }, frame.Key{Name: "cap.<name>.max_count", Unit: "intents",
		Code: errcode.AggregateLimit, Codes: []errcode.Code{errcode.TaskIDRequired, errcode.AggregateField},
		Doc:     "How many intents the cap lets pass in its window. Version 1.x only informs.",
		Example: "cap.deploys.max_count: 3"})

	keyCapSum = capKey(sums, func(c *Cap) **frame.Limit { return &c.SumUSD }, frame.Key{Name: "cap.<name>.max_sum_usd", Unit: "USD",
		Code: errcode.AggregateLimit, Codes: []errcode.Code{errcode.TaskIDRequired, errcode.AggregateField},
		Doc:     "How much the intents' `amount_field` may add up to in the window, with at most 18 fraction digits; in place of `max_count`.",
		Example: "cap.refunds.max_sum_usd: 250.00"})

	keySoftCapWindow = capKey(frame.OneWord, func(c *Cap) **frame.Text { return &c.Window }, frame.Key{Name: "cap.<name>.window", Values: capWindows,
		Doc: "When the cap starts again: with the UTC day or hour, or never within one task. Required.", Example: "cap.deploys.window: day"})

	keySoftCapAction = capKey(oneActionPattern, func(c *Cap) **frame.Text { return &c.Action }, frame.Key{Name: "cap.<name>.action",
		Doc: "The actions that the cap counts: an action, or the beginning of actions and `*`. Required.", Example: "cap.deploys.action: deploy.*"})

	keySoftCapGroupBy = capKey(fieldPaths, func(c *Cap) **frame.Text { return &c.Group }, frame.Key{Name: "cap.<name>.group_by",
		Doc: "A field of the request: each of its values has a count of its own.", Example: "cap.deploys.group_by: metadata.customer"})

	keySoftCapAmountField = capKey(amountPaths, func(c *Cap) **frame.Text { return &c.Amount }, frame.Key{Name: "cap.<name>.amount_field",
		Doc: "The field that has the amount in USD, a decimal string below `metadata` or `arguments`; goes with `max_sum_usd` only.", Example: "cap.refunds.amount_field: metadata.amount_usd"})
)

var (
	sums = frame.Amounts(sumDecimals, "a sum in USD has")

	oneActionPattern = frame.ValueOf(frame.TypePattern, readOneActionPattern)

	fieldPaths = frame.ValueOf(frame.TypeField, fieldPath)

	amountPaths = frame.ValueOf(frame.TypeField, amountPath)
)

// cap returns the cap that a key names, a new one where it has no line yet, or nil after reporting.
func cap(c *frame.Checker, entry *grammar.Entry) *Cap {
	name := entry.Key.Segments[1]
	soft := frame.Part[SoftLimits](c.Parts)
	if one := soft.caps[name.Text]; one != nil {
		return one
	}
	if strings.Trim(name.Text, frame.NameLetters) != "" || len(name.Text) > frame.MaxSymbolBytes || slices.Contains(foreignCaps, name.Text) {
		c.Add(grammar.At(codes.CapName, name.Span, "`%s` can't be the name of a cap", frame.Shorten(name.Text)).
			WithHint("use up to %d letters, digits, `_` and `-`, and no name that is taken", frame.MaxSymbolBytes))
		return nil
	}
	one := &Cap{Name: name.Text, Span: entry.Span}
	frame.Put(&soft.caps, name.Text, one)
	soft.Caps = append(soft.Caps, one)
	return one
}

// fieldPath reads a value that is the path of a field, without `intent.` in front, or returns nil after reporting.
func fieldPath(c *frame.Checker, entry *grammar.Entry) *frame.Text {
	value := entry.Value
	start := value.Span.Start
	if value.Quoted {
		start++
	}
	var segments []grammar.Segment
	for name := range strings.SplitSeq(value.Text, ".") {
		if name == "" || strings.Trim(name, frame.NameLetters+"@$/+") != "" {
			c.Add(grammar.At(codes.FieldPath, value.Span, "`%s` is not the path of a field", frame.Shorten(value.Text)).
				WithHint("write names with dots between, such as `metadata.customer`"))
			return nil
		}
		segments = append(segments, grammar.Segment{Text: name, Span: grammar.Span{Start: start, End: start + len(name)}})
		start += len(name) + len(".")
	}
	path, ok := c.Path(segments)
	if !ok {
		return nil
	}
	return &frame.Text{Span: entry.Span, Item: frame.Item{Text: path, Span: value.Span}}
}

// belowMembers reports a path that is not below metadata or arguments.
func belowMembers(c *frame.Checker, path *frame.Text) bool {
	if strings.Contains(path.Text, ".") { // only what has members has a dot
		return true
	}
	c.Add(grammar.At(codes.CapAmount, path.Item.Span, "`%s` is not an amount in USD", frame.Shorten(path.Text)).
		WithHint("name a field of your own that holds one, such as `metadata.amount_usd`"))
	return false
}

// FinishCaps checks that each cap has what it needs, and nothing that excludes it.
func FinishCaps(c *frame.Checker) {
	if frame.Part[SoftLimits](c.Parts) == nil {
		return
	}
	for _, one := range frame.Part[SoftLimits](c.Parts).Caps {
		if c.LostPart("soft_limits", one.Name) {
			continue
		}
		switch {
		case one.Count != nil && one.SumUSD != nil:
			c.Add(grammar.At(codes.CapForm, one.SumUSD.Span, "cap `%s` has `max_count` too, and is either a count or a sum", one.Name).
				WithHint("make two caps of it"))
		case one.Count == nil && one.SumUSD == nil:
			incompleteCap(c, one, "max_count` or `max_sum_usd")
		case one.Count != nil && one.Amount != nil:
			c.Add(grammar.At(codes.CapForm, one.Amount.Span, "cap `%s` counts intents, and looks at no amount", one.Name).
				WithHint("write `max_sum_usd` in place of `max_count`, or remove `amount_field`"))
		case one.SumUSD != nil && one.Amount == nil:
			incompleteCap(c, one, "amount_field")
		}
		if one.Window == nil {
			incompleteCap(c, one, "window")
		}
		if one.Action == nil {
			incompleteCap(c, one, "action")
		}
	}
	c.Partial = c.Partial || c.Found.HasErrors()
}

func incompleteCap(c *frame.Checker, one *Cap, key string) {
	c.Add(grammar.At(codes.CapIncomplete, one.Span, "cap `%s` has no `%s`", one.Name, key).
		WithHint("add `cap.%s.%s: …`", one.Name, strings.SplitN(key, "`", 2)[0]))
}

// capKey returns the row of a key that says something of a cap.
func capKey[T any](value frame.ValueType[T], field func(*Cap) **T, row frame.Key) *frame.Key {
	return frame.NewKeyFunc(value.Name, func(c *frame.Checker, row *frame.Key, entry *grammar.Entry) {
		if one := cap(c, entry); one != nil {
			*field(one) = value.Read(c, row, entry)
		}
	}, row)
}

// amountPath reads a path below metadata or arguments. It returns nil after reporting.
func amountPath(c *frame.Checker, entry *grammar.Entry) *frame.Text {
	if path := fieldPath(c, entry); path != nil && belowMembers(c, path) {
		return path
	}
	return nil
}

// readOneActionPattern reads one action pattern, in lower case. It returns nil after reporting.
func readOneActionPattern(c *frame.Checker, entry *grammar.Entry) *frame.Text {
	value := entry.Value
	if !c.ActionPattern(value.Text, value.Span) {
		return nil
	}
	return &frame.Text{Span: entry.Span, Item: frame.Item{Text: strings.ToLower(value.Text), Span: value.Span}}
}

func caps(e *frame.Emitter) {
	for _, one := range frame.Part[SoftLimits](e.Parts).Caps {
		emitCap(e, one)
	}
}

// windows are the windows of caps by name.
var windows = map[string]vm.Window{"day": vm.Day, "hour": vm.Hour, "task": vm.Task}

// emitCap plans the counter of one cap for the actions that it covers.
func emitCap(e *frame.Emitter, one *Cap) {
	next := e.NewLabel()
	key := keyCapCount
	var limit amount.Amount
	if one.Count != nil {
		limit = amount.FromUint64(one.Count.N)
		e.At(one.Count.Span)
	} else {
		key, limit = keyCapSum, one.SumUSD.Amount
		e.At(one.SumUSD.Span)
	}
	rule := key.RuleOf(one.Name)
	c := frame.CounterOf(key, windows[one.Window.Text], limit)
	c.Name = one.counterName(rule)
	emitScope(e, one.Action.Text, next)
	if c.Window == vm.Task {
		e.ByTask(&c, rule, "the cap counts by task, and the intent has no task_id", next)
	}
	if one.Group != nil {
		byGroup(e, &c, rule, one.Group.Text, next)
	}
	if one.Amount != nil {
		sumOf(e, &c, rule, one.Amount.Text, next)
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

// byGroup lets a counter count by the value of a field, within the task where it counts by task, and denies intents
// whose value is no single text.
func byGroup(e *frame.Emitter, c *vm.Counter, rule, path string, next vm.Label) {
	group := e.Field(slot.Canonical(path))
	if c.Group == vm.NoSlot {
		c.Group, c.GroupName = group, path
	} else {
		c.Subgroup, c.SubgroupName = group, path
	}
	if path == frame.SlotAction { // which every intent has
		return
	}
	has := e.NewLabel()
	e.Kind(vm.If, group, vm.Kinds(vm.String, vm.Number, vm.Bool), has)
	e.DenyBy(rule, errcode.AggregateField, path+" is missing or no single value, and the cap groups by it", vm.Blame{Slot: group}, next)
	e.Place(has)
}

// sumOf lets a counter add up the amount of a field, and denies intents whose value is none.
func sumOf(e *frame.Emitter, c *vm.Counter, rule, path string, next vm.Label) {
	bad, valid, value := e.NewLabel(), e.NewLabel(), e.Field(slot.Canonical(path))
	c.Op, c.Amount, c.Decimals = vm.Sum, value, sumDecimals
	e.Kind(vm.Unless, value, vm.Kinds(vm.String), bad)
	e.Load(1, value, sumDecimals, valid)
	e.Place(bad)
	e.DenyBy(rule, errcode.AggregateField, path+" is missing, or no decimal string, and the cap adds it up", vm.Blame{Slot: value}, next)
	e.Place(valid)
}

const (
	spendDecimals = 6  // of a model budget (facts of the format: at most six fraction digits)
	sumDecimals   = 18 // of a cap's sum in USD
)

// Cap is what the keys `cap.<name>.…` say of one cap.
type Cap struct {
	Name   string
	Span   grammar.Span // of its first line
	Count  *frame.Count // either this
	SumUSD *frame.Limit // or that, with 18 decimals
	Window *frame.Text  // day, hour or task
	Action *frame.Text  // an action pattern in lower case
	Group  *frame.Text  // a path without `intent.`; nil for one group
	Amount *frame.Text  // a path below metadata or arguments; only with SumUSD
}
