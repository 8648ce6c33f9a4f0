package frame

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm/amount"
	"bailiff/vm/form/evmaddr"
	"bailiff/vm/slot"
)

// NameLetters are the characters of names that the author of a policy chooses.
const NameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// The largest values that are read.
const (
	MaxCount = 1<<53 - 1 // the largest integer that every JSON reader gives back exactly

	MaxActionBytes = slot.MaxAction // decisions, section 2, "Kinds of intents"
	MaxPathBytes   = 256            // of a custom rule, so that its matched_rule stays short
	MaxTextBytes   = 4096           // of one value or list entry, the same as a subject of `matches`

	// MaxSymbolBytes is the longest symbol of a token.
	MaxSymbolBytes = 64
)

// NativeDecimals is the number of decimals of every supported chain's native currency: its base unit is wei.
const NativeDecimals = 18

// List reads a value as a list and reports empty, overlong and repeated items.
func (c *Checker) List(entry *grammar.Entry) []grammar.Item { return c.items(entry.Value) }

func (c *Checker) items(value *grammar.Value) []grammar.Item {
	items, found := value.List()
	c.Found = append(c.Found, found...)
	seen := make(map[string]bool, len(items))
	kept := make([]grammar.Item, 0, len(items))
	for _, item := range items {
		switch {
		case item.Text == "":
		case len(item.Text) > MaxTextBytes:
			c.Add(grammar.At(codes.TextLong, item.Span, "an item has at most %d bytes, and this one %d", MaxTextBytes, len(item.Text)))
		case seen[item.Text]:
			c.Add(grammar.At(codes.RepeatedItem, item.Span, "`%s` is in the list already", Shorten(item.Text)))
		default:
			kept = append(kept, item)
		}
		seen[item.Text] = true
	}
	return kept
}

// Limit reads a positive decimal with at most that many fraction digits. The unit is what has them, with its verb:
// "ETH has". It returns nil after reporting.
func (c *Checker) Limit(row *Key, entry *grammar.Entry, decimals uint8, unit string) *Limit {
	value := entry.Value
	parsed, err := amount.Parse(value.Text, decimals)
	switch {
	case errors.Is(err, amount.ErrFraction):
		c.Add(grammar.At(codes.Fraction, value.Span, "%s %d decimals, and this has more digits after the point", unit, decimals).
			WithHint("no such amount exists; leave the last digits out"))
	case errors.Is(err, amount.ErrOverflow):
		c.Add(grammar.At(codes.Decimal, value.Span, "this is more than 2^256-1 base units").
			WithHint("no balance is that large; write the limit that is meant"))
	case err != nil:
		words := strings.Fields(strings.TrimSuffix(unit, " has"))
		c.Add(suggestDecimal(grammar.At(codes.Decimal, value.Span, "`%s` is not a plain decimal number", Shorten(value.Text)), value, words[len(words)-1], decimals))
	case parsed.IsZero():
		c.Add(grammar.At(codes.NotPositive, value.Span, "a limit must be above zero").WithHint("%s", cmp.Or(row.Zero, hintLeaveOut)))
	default:
		return &Limit{Span: entry.Span, Amount: parsed, Decimals: decimals}
	}
	return nil
}

// The texts that say what to write in place of a limit of zero.
const (
	hintLeaveOut = "to deny it altogether, leave out what grants it"
	HintNoFee    = "no transaction is free of gas; write the most that it may cost"
	HintHoldAll  = "to hold every intent, name its action in `require_approval` (from version 2.0)"
)

// LimitOfAny checks a limit whose unit is not known for what would be wrong in every unit.
func (c *Checker) LimitOfAny(row *Key, entry *grammar.Entry) {
	_, fraction, _ := strings.Cut(entry.Value.Text, ".")
	c.Limit(row, entry, uint8(min(len(fraction), amount.MaxDecimals)), "a token has at most")
}

// Integer reads an integer in range. It returns nil after reporting.
func (c *Checker) Integer(entry *grammar.Entry, least, most uint64) *Count {
	text := entry.Value.Text
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < least || n > most || text[0] == '+' || len(text) > 1 && text[0] == '0' {
		d := grammar.At(codes.Integer, entry.Value.Span, "`%s` is not a whole number from %d to %d", Shorten(text), least, most)
		if plain := plainNumber(text); plain != text && inRange(plain, least, most) && !unitOfTime.MatchString(text) {
			c.Add(d.WithHint("write `%s`", plain).WithFix(entry.Value.Span, plain))
		} else {
			c.Add(d.WithHint("%s", integerHint(text, least, most)))
		}
		return nil
	}
	return &Count{Span: entry.Span, N: n}
}

// unitOfTime is a number with a unit of time, which the key may count otherwise.
var unitOfTime = regexp.MustCompile(`^[0-9.]+[ \t]*(?:s|m|h|d|ms|min|sec|seconds?|minutes?|hours?|days?)$`)

func inRange(text string, least, most uint64) bool {
	n, err := strconv.ParseUint(text, 10, 64)
	return err == nil && n >= least && n <= most && text[0] != '0'
}

// integerHint returns what to do about a text that is no integer in range.
func integerHint(text string, least, most uint64) string {
	digits, negative := strings.CutPrefix(text, "-")
	n, err := strconv.ParseUint(digits, 10, 64)
	switch {
	case err == nil && least > 0 && (negative || n == 0):
		return "a limit is greater than zero; to deny it altogether, leave out what grants it"
	case err == nil && !negative && n > most || errors.Is(err, strconv.ErrRange):
		return fmt.Sprintf("%d is the largest that there can be", most)
	}
	if unitOfTime.MatchString(text) {
		return "write it in plain digits, in the unit that the key names"
	}
	return "write it in plain digits, without sign and leading zeros"
}

// Boolean reads true or false, in any case of ASCII. It returns nil after reporting what is neither; letters of other
// alphabets are reported, and read as the ones that they fold to.
func (c *Checker) Boolean(entry *grammar.Entry) *Flag {
	text := entry.Value.Text
	on := strings.EqualFold(text, "true")
	if !on && !strings.EqualFold(text, "false") {
		c.Add(notBoolean(entry.Value))
		return nil
	}
	if other := grammar.Foreign(text); other != "" {
		plain := strconv.FormatBool(on)
		c.Add(grammar.At(codes.BooleanLetters, entry.Value.Span, "`%s` has %s, which is not an ASCII letter", Shorten(text), other).
			WithHint("write `%s`", plain).WithFix(entry.Value.Span, plain))
	}
	return &Flag{Span: entry.Span, On: on}
}

// otherBooleans are the words that other formats have for true and false.
var otherBooleans = map[string]string{
	"yes": "true", "y": "true", "on": "true", "1": "true", "t": "true", "enabled": "true",
	"no": "false", "n": "false", "off": "false", "0": "false", "f": "false", "disabled": "false",
}

func notBoolean(value *grammar.Value) grammar.Diagnostic {
	d := grammar.At(codes.Boolean, value.Span, "`%s` is neither `true` nor `false`", Shorten(value.Text))
	if meant := otherBooleans[strings.ToLower(value.Text)]; meant != "" {
		return d.WithHint("write `%s`", meant).WithFix(value.Span, meant)
	}
	if near := grammar.Closest(value.Text, []string{"true", "false"}); near != "" {
		return d.WithHint("did you mean `%s`?", near).WithFix(value.Span, near)
	}
	return d.WithHint("write `true` or `false`")
}

// word reads a value that has to be one of a key's words. It returns nil after reporting.
func (c *Checker) word(row *Key, entry *grammar.Entry) *Text {
	item := grammar.Item{Text: entry.Value.Text, Span: entry.Value.Span}
	if !c.Choice(row, item) {
		return nil
	}
	return &Text{Span: entry.Span, Item: Item{item.Text, item.Span}}
}

// choices reads a list whose items have to be a key's words.
func (c *Checker) choices(row *Key, entry *grammar.Entry) *List {
	list := &List{Span: entry.Span}
	for _, item := range c.List(entry) {
		if c.Choice(row, item) {
			list.Items = append(list.Items, Item{item.Text, item.Span})
		}
	}
	return list
}

// Choice reports an item that is none of a key's words.
func (c *Checker) Choice(row *Key, item grammar.Item) bool {
	if slices.Contains(row.Values, item.Text) {
		return true
	}
	d := grammar.At(codes.Word, item.Span, "`%s` is not a value of `%s`", Shorten(item.Text), Shorten(row.Name))
	c.Add(suggestWord(d, item, row.Values))
	return false
}

// patterns reads a list of action patterns, in lower case.
func (c *Checker) patterns(entry *grammar.Entry) *List {
	list := &List{Span: entry.Span}
	seen := map[string]bool{}
	for _, item := range c.List(entry) {
		lower := strings.ToLower(item.Text)
		switch {
		case !c.patternItem(item):
		case seen[lower]:
			c.RepeatedCase(item, lower)
		default:
			list.Items = append(list.Items, Item{lower, item.Span})
		}
		seen[lower] = true
	}
	return list
}

// patternItem reports an item that is no action pattern.
func (c *Checker) patternItem(item grammar.Item) bool {
	if !c.ActionPattern(item.Text, item.Span) {
		return false
	}
	c.LintWildcards(item)
	return true
}

// ActionPattern reports a text that is no action pattern.
func (c *Checker) ActionPattern(text string, span grammar.Span) bool {
	if exact := strings.TrimSuffix(text, "*"); strings.Contains(exact, "*") || !IsAction(text) {
		c.Add(grammar.At(codes.ActionPattern, span, "`%s` is not a pattern of actions", Shorten(text)).
			WithHint("write an action, or the beginning of actions and one `*` at its end"))
		return false
	}
	return true
}

// RepeatedCase reports an item that the list has already in another spelling of the same normal form.
func (c *Checker) RepeatedCase(item grammar.Item, normal string) {
	d := grammar.At(codes.CaseRepeated, item.Span, "`%s` is in the list already, in another spelling", Shorten(item.Text))
	if normal != item.Text {
		d.Message += ": all are `" + Shorten(normal) + "`"
	}
	c.Add(d.WithHint("remove it"))
}

// Actions reads a list of exact actions.
func (c *Checker) Actions(span grammar.Span, value *grammar.Value) *List {
	list := &List{Span: span}
	before := len(c.Found)
	for _, item := range c.items(value) {
		if c.action(item) {
			list.Items = append(list.Items, Item{item.Text, item.Span})
		}
	}
	c.ForeignList(&Key{Type: TypeActions}, value, before)
	return list
}

// action reports an item that is no exact action.
func (c *Checker) action(item grammar.Item) bool {
	switch {
	case !IsAction(item.Text):
		d := grammar.At(codes.Action, item.Span, "an action is 1 to %d characters of printable ASCII", MaxActionBytes)
		if other := grammar.Foreign(item.Text); other != "" {
			d = d.WithHint("%s is not; type it anew", other)
		}
		c.Add(d)
	case strings.Contains(item.Text, "*"):
		c.Add(grammar.At(codes.ActionWildcard, item.Span, "a list that grants has no wildcards").
			WithHint("name each one, as in `allowed: bash, file_write` or `allowed_actions: wallet.transfer, contract.call`"))
	default:
		return true
	}
	return false
}

// IsAction reports whether a request can have that action.
func IsAction(text string) bool {
	if text == "" || len(text) > MaxActionBytes {
		return false
	}
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// Chain reads one chain id, without leading zeros, or reports it and returns "".
func (c *Checker) Chain(text string, span grammar.Span) string {
	digits := strings.TrimLeft(text, "0")
	if n, err := strconv.ParseUint(digits, 10, 64); err != nil || n > MaxCount || strings.Trim(text, "0123456789") != "" {
		c.Add(notChain(text, span))
		return ""
	}
	return digits
}

// notChain reports what is no chain id. A name has no fix: what it names is for the author to say.
func notChain(text string, span grammar.Span) grammar.Diagnostic {
	d := grammar.At(codes.ChainID, span, "`%s` is not a chain id", Shorten(text))
	if id := chainNames[strings.ToLower(text)]; id != "" {
		return d.WithHint("chains are numbers; the id of `%s` is %s", text, id)
	}
	if id := decimalID(text); id != "" {
		return d.WithHint("write `%s`", id).WithFix(span, id)
	}
	if inner := strings.Trim(text, "[]"); inner != text && inner != "" && strings.Trim(inner, "0123456789") == "" {
		return d.WithHint("a list has no brackets; write `%s`", inner).WithFix(span, inner)
	}
	if id, isCAIP := strings.CutPrefix(text, "eip155:"); isCAIP && id != "" && strings.Trim(id, "0123456789") == "" {
		return d.WithHint("write `%s`", id).WithFix(span, id)
	}
	return d.WithHint("write a positive integer, such as 8453")
}

// Address reads one address in lower case, or reports it and returns "".
func (c *Checker) Address(text string, span grammar.Span) string {
	normal, err := evmaddr.Normalize(text)
	switch {
	case errors.Is(err, evmaddr.ErrChecksum):
		c.Add(grammar.At(codes.Checksum, span, "the checksum of this address is wrong").
			WithHint("compare it with its source; in lower case its case is not checked"))
	case err != nil:
		d := grammar.At(codes.Address, span, "`%s` is not an address", Shorten(text)).WithHint("write the address itself, 0x and 40 hexadecimal digits")
		switch {
		case strings.Contains(text, "…") || strings.Contains(text, "..."):
			d.Message += ": it is shortened"
			d = d.WithHint("write the whole address, 0x and all 40 hexadecimal digits")
		case isNameOfAddress(text):
			d = d.WithHint("names are not resolved; write the address itself, 0x and 40 hexadecimal digits")
		}
		c.Add(d)
	}
	return normal
}

// isNameOfAddress reports whether a text is a name of the Ethereum Name Service.
func isNameOfAddress(text string) bool { return strings.HasSuffix(strings.ToLower(text), ".eth") }

// Literals reports every address literal inside a text whose checksum is wrong.
func (c *Checker) Literals(text string, span grammar.Span) {
	for at := range evmaddr.Literals(text) {
		c.Address(text[at.Start:at.End], span)
	}
}

// NameList reads a list of names that check has nothing against.
func (c *Checker) NameList(entry *grammar.Entry, check func(text string) Problem) *List {
	list := &List{Span: entry.Span}
	for _, item := range c.List(entry) {
		if found := check(item.Text); c.RefuseName(found, item.Span) && found.Code != codes.Ref {
			continue // a ref is kept: in a policy that is in force the finding is a warning
		}
		list.Items = append(list.Items, Item{item.Text, item.Span})
	}
	return list
}

// RefuseName reports a problem, if there is one.
func (c *Checker) RefuseName(p Problem, span grammar.Span) bool {
	if p.Message == "" {
		return false
	}
	c.Add(grammar.At(p.Code, span, "%s", p.Message).WithHint("%s", p.Remedy))
	return true
}

// decimalID returns the chain id that is written in the hexadecimal form of JSON-RPC, or "".
func decimalID(text string) string {
	if n, err := strconv.ParseUint(text, 0, 64); err == nil && n > 0 && hexID.MatchString(text) {
		return strconv.FormatUint(n, 10)
	}
	return ""
}
