package vm

import (
	"fmt"
	"math/rand"

	"bailiff/vm/amount"
	"bailiff/vm/match"
)

// A source makes programs and frames of few and similar texts, so that tests often hold.
type source struct{ *rand.Rand }

var genTexts = []string{
	"a", "b", "ab", "aab", "mcp.", "mcp.a", "mcp.ab", "bash", "", "é", "a.b", ".a", "/a", "/a/b", "~/a", "1", "1.5", "2000000", "true",
	"0xabcdef0123456789abcdef0123456789abcdef01", "0xABCDEF0123456789abcdef0123456789abcdef01", "x 0xabcdef0123456789ABCDEF0123456789abcdef01",
	"X 0xabcdef0123456789ABCDEF0123456789abcdef01",
}

func (g source) text() string { return genTexts[g.Intn(len(genTexts))] }

func (g source) oneOf(texts ...string) string { return texts[g.Intn(len(texts))] }

// token returns a token that shares no contract with those of other numbers.
func (g source) token(number int) Token {
	t := Token{Symbol: fmt.Sprintf("t%d", number), Decimals: uint8(g.Intn(amount.MaxDecimals + 1))}
	for range g.Intn(3) {
		address := fmt.Sprintf("0x%038x%02x", len(t.Pins), number)
		t.Pins = append(t.Pins, Pin{Chain: g.oneOf("", "1", "8453"), Address: address})
	}
	return t
}

var fieldNames = []string{actionField, actionField, "a", "b", "c", "d"}

func (g source) field() string { return g.oneOf(fieldNames...) }

// blame returns one of some fields, or an element of it.
func (g source) blame(b *Builder, names ...string) Blame {
	return Blame{Slot: b.Field(g.oneOf(names...)), Element: g.Intn(2) == 0}
}

func (g source) when() When { return When(g.Intn(4)) }

// program makes a program of blocks: a test, which jumps over some instructions to the next block or beyond.
func (g source) program() (*Program, error) {
	b := NewBuilder(g.text())
	blocks := make([]Label, 2+g.Intn(12))
	for i := range blocks {
		blocks[i] = b.NewLabel()
	}
	for i := range blocks[:len(blocks)-1] {
		b.Place(blocks[i])
		if g.Intn(4) == 0 {
			b.SetSpan(Span{Start: int32(i * 7), End: int32(g.Intn(1000)), Line: int32(i)})
		}
		later := blocks[i+1:]
		next := func() Label { return later[g.Intn(len(later))] }
		g.test(b, b.Field(g.field()), next, blocks[i+1])
	}
	b.Place(blocks[len(blocks)-1])
	b.End()
	for i := range g.Intn(3) {
		b.Token(g.token(i))
	}
	return b.Program()
}

// test emits a block that tests a slot, and all of whose instructions can be reached; the text after it begins at following.
func (g source) test(b *Builder, slot uint16, next func() Label, following Label) {
	over := b.NewLabel()
	switch g.Intn(10) {
	case 0:
		b.Kind(g.when()&Unless, slot, KindMask(1+g.Intn(254)), over)
	case 1:
		g.scan(b, slot, next, over)
	case 2:
		register := g.Intn(2)
		loaded := b.NewLabel()
		b.Load(register, slot, 6, loaded)
		b.Deny(g.rule(b), g.blame(b, fieldNames...), next())
		b.Place(loaded)
		b.Compare(OpGreater+Op(g.Intn(2)), g.when()&Unless, register, b.Amount(amount.FromUint64(uint64(g.Intn(3)*1000000)), 6, "units"), over)
	case 3:
		cases := []Case{}
		for i, text := range []string{"bash", "mcp.", "mcp.a", "a"} {
			if g.Intn(2) == 0 {
				cases = append(cases, Case{Text: text, Prefix: (i+g.Intn(2))%2 == 0, To: next()})
			}
		}
		b.Switch(slot, over, append(cases, Case{Text: g.oneOf("zz", "aab"), To: over})...)
		b.Place(over)
		return
	case 4:
		b.Test(OpMatch, g.when(), slot, b.Pattern(g.oneOf("a+", "b$", "(?i)X", "[a-z.]*"), g.Intn(2) == 0), over)
	case 5:
		b.Test(OpHost, g.when(), slot, b.Hosts(g.oneOf("a", "b", ".b", "a.b")), over)
	case 6:
		b.Test(OpPath, g.when(), slot, b.Paths(g.oneOf("/a", "**/b", "/", "*/b", "~/a")), over)
	case 7:
		style := match.Mailbox + match.GlobStyle(g.Intn(int(match.GlobStyleCount-match.Mailbox)))
		b.Test(OpGlob, g.when(), slot, b.Globs(style, g.oneOf("a", "*", "a*b"), g.oneOf("*.*", "mcp.*", "*@*", "b")), over)
	default:
		n := 1 + g.Intn(3)
		if g.Intn(6) == 0 {
			n = 2 * match.FewEntries
		}
		b.Test(OpIn+Op(g.Intn(4)), g.when(), slot, b.Texts(g.entries(n)...), over)
	}
	g.effect(b, next)
	b.Place(over)
	if g.Intn(4) == 0 {
		b.Jump(following)
	}
}

// scan emits a scan with a hit.
func (g source) scan(b *Builder, slot uint16, next func() Label, over Label) {
	entries := g.entries(2 + g.Intn(40))
	set := b.Texts(entries...)
	b.Scan(slot, set, over)
	b.Hit(g.when()&Unless, set, entries[g.Intn(len(entries))], next())
}

// effect emits the text behind a test.
func (g source) effect(b *Builder, next func() Label) {
	switch g.Intn(8) {
	case 0:
		b.Hold(g.rule(b))
	case 1:
		b.Note(g.rule(b))
	case 2:
		b.Class(Class(1 + g.Intn(4)))
	case 3:
		b.Reject(g.rule(b), b.Field(g.field()))
	case 4:
		b.Reserve(b.Counter(g.counter(b)))
	default:
		b.Deny(g.rule(b), g.blame(b, fieldNames...), next())
	}
}

func (g source) rule(b *Builder) uint16 {
	name := fmt.Sprint("rule ", g.Intn(6))
	return b.Rule(Rule{Name: name, Code: "C", Message: name})
}

func (g source) counter(b *Builder) Counter {
	n := g.Intn(4)
	c := Counter{Name: fmt.Sprint("counter ", n), Unit: genTexts[n], Rule: b.Rule(Rule{Name: "limit"}), Op: Count, Window: Window(1 + n%3), Amount: NoSlot, Group: NoSlot,
		Limit: amount.FromUint64(uint64(n))}
	if n&1 != 0 {
		c.Op, c.Decimals, c.Amount = Sum+CounterOp(n/2), 6, b.Field("d")
	}
	if n&2 != 0 {
		c.Group, c.GroupName = b.Field("c"), "c"
	}
	if n == 3 {
		c.Subgroup, c.SubgroupName = b.Field("d"), "d"
	}
	return c
}

// entries makes at most n entries; none is empty.
func (g source) entries(n int) (entries []match.Entry) {
	for range n {
		text := g.text()
		if g.Intn(3) == 0 {
			text += g.text()
		}
		entries = append(entries, literal(text+g.oneOf("a", "b", "")))
		if e := &entries[len(entries)-1]; e.Text == "" {
			e.Text = "c"
		}
	}
	return entries
}

// frame makes values for n slots, or for fewer.
func (g source) frame(n int) []Value {
	frame := make([]Value, n)
	for i := range frame {
		frame[i] = g.value(true)
	}
	if g.Intn(8) == 0 {
		frame = frame[:g.Intn(n+1)]
	}
	return frame
}

func (g source) value(lists bool) Value {
	v := Value{Text: g.text() + g.oneOf("", "", g.text())}
	switch g.Intn(12) {
	case 0:
		return Value{}
	case 1:
		return Value{Kind: Null}
	case 2:
		return Value{Kind: Invalid}
	case 3:
		return Value{Kind: Object}
	case 4:
		v.Kind = Bool
	case 5:
		v.Kind, v.BaseUnits = Number, true
	case 6, 7:
		if !lists {
			return Value{Kind: Bool, Text: "true"}
		}
		v = Value{Kind: List}
		for range g.Intn(4) {
			v.Elems = append(v.Elems, g.value(g.Intn(20) == 0))
		}
	default:
		v.Kind = String
	}
	return v
}
