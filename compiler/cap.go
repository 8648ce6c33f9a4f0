package compiler

import (
	"slices"
	"strings"

	"bailiff/compiler/codes"
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
	keyCapCount = capKey(counts, func(c *Cap) **Count { return &c.Count }, Key{Name: "cap.<name>.max_count", Unit: "intents",
		Code: errcode.AggregateLimit, Codes: []errcode.Code{errcode.TaskIDRequired, errcode.AggregateField},
		Doc:     "How many intents the cap lets pass in its window. Version 1.x only informs.",
		Example: "cap.deploys.max_count: 3"})

	keyCapSum = capKey(sums, func(c *Cap) **Limit { return &c.SumUSD }, Key{Name: "cap.<name>.max_sum_usd", Unit: "USD",
		Code: errcode.AggregateLimit, Codes: []errcode.Code{errcode.TaskIDRequired, errcode.AggregateField},
		Doc:     "How much the intents' `amount_field` may add up to in the window, with at most 18 fraction digits; in place of `max_count`.",
		Example: "cap.refunds.max_sum_usd: 250.00"})

	keySoftCapWindow = capKey(oneWord, func(c *Cap) **Text { return &c.Window }, Key{Name: "cap.<name>.window", Values: capWindows,
		Doc: "When the cap starts again: with the UTC day or hour, or never within one task. Required.", Example: "cap.deploys.window: day"})

	keySoftCapAction = capKey(oneActionPattern, func(c *Cap) **Text { return &c.Action }, Key{Name: "cap.<name>.action",
		Doc: "The actions that the cap counts: an action, or the beginning of actions and `*`. Required.", Example: "cap.deploys.action: deploy.*"})

	keySoftCapGroupBy = capKey(fieldPaths, func(c *Cap) **Text { return &c.Group }, Key{Name: "cap.<name>.group_by",
		Doc: "A field of the request: each of its values has a count of its own.", Example: "cap.deploys.group_by: metadata.customer"})

	keySoftCapAmountField = capKey(amountPaths, func(c *Cap) **Text { return &c.Amount }, Key{Name: "cap.<name>.amount_field",
		Doc: "Where the amount in USD stands, a decimal string below `metadata` or `arguments`; goes with `max_sum_usd` only.", Example: "cap.refunds.amount_field: metadata.amount_usd"})
)

var (
	sums = amounts(sumDecimals, "a sum in USD has")

	oneActionPattern = valueOf(TypePattern, (*checker).oneActionPattern)

	fieldPaths = valueOf(TypeField, (*checker).fieldPath)

	amountPaths = valueOf(TypeField, (*checker).amountPath)
)

// cap returns the cap that a key names, a new one where it has no line yet, or nil after reporting.
func (c *checker) cap(entry *grammar.Entry) *Cap {
	name := entry.Key.Segments[1]
	soft := part[SoftLimits](c.parts)
	if one := soft.caps[name.Text]; one != nil {
		return one
	}
	if strings.Trim(name.Text, nameLetters) != "" || len(name.Text) > MaxSymbolBytes || slices.Contains(foreignCaps, name.Text) {
		c.add(grammar.At(codes.CapName, name.Span, "`%s` can't be the name of a cap", Shorten(name.Text)).
			WithHint("use up to %d letters, digits, `_` and `-`, and no name that is taken", MaxSymbolBytes))
		return nil
	}
	one := &Cap{Name: name.Text, Span: entry.Span}
	put(&soft.caps, name.Text, one)
	soft.Caps = append(soft.Caps, one)
	return one
}

// fieldPath reads a value that is the path of a field, without `intent.` in front, or returns nil after reporting.
func (c *checker) fieldPath(entry *grammar.Entry) *Text {
	value := entry.Value
	start := value.Span.Start
	if value.Quoted {
		start++
	}
	var segments []grammar.Segment
	for name := range strings.SplitSeq(value.Text, ".") {
		if name == "" || strings.Trim(name, nameLetters+"@$/+") != "" {
			c.add(grammar.At(codes.FieldPath, value.Span, "`%s` is no path of a field", Shorten(value.Text)).
				WithHint("write names with dots between, such as `metadata.customer`"))
			return nil
		}
		segments = append(segments, grammar.Segment{Text: name, Span: grammar.Span{Start: start, End: start + len(name)}})
		start += len(name) + len(".")
	}
	path, ok := c.path(segments)
	if !ok {
		return nil
	}
	return &Text{entry.Span, Item{path, value.Span}}
}

// belowMembers reports a path that is not below metadata or arguments.
func (c *checker) belowMembers(path *Text) bool {
	if strings.Contains(path.Text, ".") { // only what has members has a dot
		return true
	}
	c.add(grammar.At(codes.CapAmount, path.Item.Span, "`%s` is no amount in USD", Shorten(path.Text)).
		WithHint("name a field of your own that holds one, such as `metadata.amount_usd`"))
	return false
}

// finishCaps checks that each cap has what it needs, and nothing that excludes it.
func (c *checker) finishCaps() {
	if part[SoftLimits](c.parts) == nil {
		return
	}
	for _, one := range part[SoftLimits](c.parts).Caps {
		if c.lostPart("soft_limits", one.Name) {
			continue
		}
		switch {
		case one.Count != nil && one.SumUSD != nil:
			c.add(grammar.At(codes.CapForm, one.SumUSD.Span, "cap `%s` has `max_count` too, and is either a count or a sum", one.Name).
				WithHint("make two caps of it"))
		case one.Count == nil && one.SumUSD == nil:
			c.incompleteCap(one, "max_count` or `max_sum_usd")
		case one.Count != nil && one.Amount != nil:
			c.add(grammar.At(codes.CapForm, one.Amount.Span, "cap `%s` counts intents, and looks at no amount", one.Name).
				WithHint("write `max_sum_usd` in place of `max_count`, or remove `amount_field`"))
		case one.SumUSD != nil && one.Amount == nil:
			c.incompleteCap(one, "amount_field")
		}
		if one.Window == nil {
			c.incompleteCap(one, "window")
		}
		if one.Action == nil {
			c.incompleteCap(one, "action")
		}
	}
	c.partial = c.partial || c.found.HasErrors()
}

func (c *checker) incompleteCap(one *Cap, key string) {
	c.add(grammar.At(codes.CapIncomplete, one.Span, "cap `%s` has no `%s`", one.Name, key).
		WithHint("add `cap.%s.%s: …`", one.Name, strings.SplitN(key, "`", 2)[0]))
}

// capKey returns the row of a key that says something of a cap.
func capKey[T any](value valueType[T], field func(*Cap) **T, row Key) *Key {
	return keyRead(value.name, func(c *checker, row *Key, entry *grammar.Entry) {
		if one := c.cap(entry); one != nil {
			*field(one) = value.read(c, row, entry)
		}
	}, row)
}

// amountPath reads a path below metadata or arguments. It returns nil after reporting.
func (c *checker) amountPath(entry *grammar.Entry) *Text {
	if path := c.fieldPath(entry); path != nil && c.belowMembers(path) {
		return path
	}
	return nil
}

// oneActionPattern reads one action pattern, in lower case. It returns nil after reporting.
func (c *checker) oneActionPattern(entry *grammar.Entry) *Text {
	value := entry.Value
	if !c.actionPattern(value.Text, value.Span) {
		return nil
	}
	return &Text{entry.Span, Item{strings.ToLower(value.Text), value.Span}}
}

func (e *emitter) caps() {
	for _, one := range part[SoftLimits](e.parts).Caps {
		e.cap(one)
	}
}

// windows are the windows of caps by name.
var windows = map[string]vm.Window{"day": vm.Day, "hour": vm.Hour, "task": vm.Task}

// cap plans the counter of one cap for the actions that it covers.
func (e *emitter) cap(one *Cap) {
	next := e.NewLabel()
	key := keyCapCount
	var limit amount.Amount
	if one.Count != nil {
		limit = amount.FromUint64(one.Count.N)
		e.at(one.Count.Span)
	} else {
		key, limit = keyCapSum, one.SumUSD.Amount
		e.at(one.SumUSD.Span)
	}
	rule := key.ruleOf(one.Name)
	c := counterOf(key, windows[one.Window.Text], limit)
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

const (
	spendDecimals = 6  // of a model budget (facts of the format: at most six fraction digits)
	sumDecimals   = 18 // of a cap's sum in USD
)

// Cap is what the keys `cap.<name>.…` say of one cap.
type Cap struct {
	Name   string
	Span   grammar.Span // of its first line
	Count  *Count       // either this
	SumUSD *Limit       // or that, with 18 decimals
	Window *Text        // day, hour or task
	Action *Text        // an action pattern in lower case
	Group  *Text        // a path without `intent.`; nil for one group
	Amount *Text        // a path below metadata or arguments; only with SumUSD
}
