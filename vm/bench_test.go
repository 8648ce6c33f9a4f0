package vm

import (
	"fmt"
	"strings"
	"testing"

	"bailiff/vm/amount"
	"bailiff/vm/match"
)

// example builds a program of ten rules, as a compiler would: action, chain, native amount, token amount with
// its address, commands, domains, recipients, a metadata field on a list, one that must not contain a text,
// and a text that must be nowhere.
// exampleBuilder writes ten rules of the kinds that policies have.
type exampleBuilder struct {
	*Builder
	t testing.TB
}

func (b exampleBuilder) rule(name string) uint16 {
	return b.Rule(Rule{Name: name, Code: "DENIED", Message: name})
}

func (b exampleBuilder) texts(texts ...string) Const {
	var entries []match.Entry
	for _, text := range texts {
		entries = append(entries, literal(text))
	}
	return b.Texts(entries...)
}

func (b exampleBuilder) ether(n uint64) amount.Amount {
	a, err := amount.Parse(fmt.Sprint(n), 18)
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

// ensure denies by rule unless the test, which jumps over the denial, holds.
func (b exampleBuilder) ensure(op Op, when When, field string, c Const, name string) {
	over := b.NewLabel()
	b.Test(op, when, b.Field(field), c, over)
	b.Deny(b.rule(name), Blame{b.Field(field), true}, over)
	b.Place(over)
}

func example(t testing.TB) *Program {
	t.Helper()
	b := exampleBuilder{NewBuilder("2.1.0"), t}
	b.ensure(OpContains, Unless, "@strings", b.texts("BEGIN PRIVATE KEY"), "custom.deny_string")
	b.ensure(OpContains, Unless, "metadata.note", b.texts("internal"), "custom.deny_if.metadata.note")
	evm, tool, tail := b.NewLabel(), b.NewLabel(), b.NewLabel()
	b.Switch(b.Field("action"), tool,
		Case{Text: "wallet.transfer", To: evm}, Case{Text: "contract.call", To: evm}, Case{Text: "token.approve", To: evm})
	b.Place(evm)
	b.evm(tail)
	b.Place(tool)
	b.tool(tail)
	b.Place(tail)
	b.ensure(OpIn, If|Every, "metadata.env", b.texts("staging", "production"), "custom.allow_only.metadata.env")
	b.End()
	p, err := b.Program()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (b exampleBuilder) evm(tail Label) {
	b.Class(EVM)
	b.ensure(OpIn, If, "chainId", b.texts("1", "8453"), "evm.allowed_chains")
	b.ensure(OpIn, If, "action", b.texts("wallet.transfer", "contract.call"), "evm.allowed_actions")
	token, loaded, tokenLoaded := b.NewLabel(), b.NewLabel(), b.NewLabel()
	b.Kind(Unless, b.Field("token"), Kinds(Missing), token)
	b.Load(0, b.Field("amount"), 18, loaded)
	b.Deny(b.rule("evm.amount"), Blame{Slot: b.Field("amount")}, tail)
	b.Place(loaded)
	b.Compare(OpGreater, Unless, 0, b.Amount(b.ether(5), 18, "units"), tail)
	b.Deny(b.rule("evm.max_transaction_eth"), Blame{Slot: b.Field("amount")}, tail)
	b.Place(token)
	b.ensure(OpIn, If, "token", b.texts("USDC"), "evm.token")
	b.ensure(OpIn, If, "targetAddress", b.texts("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"), "evm.token.USDC.addresses")
	b.Load(0, b.Field("amount"), 6, tokenLoaded)
	b.Deny(b.rule("evm.token.USDC.amount"), Blame{Slot: b.Field("amount")}, tail)
	b.Place(tokenLoaded)
	b.Compare(OpGreater, Unless, 0, b.Amount(amount.FromUint64(1000_000000), 6, "units"), tail)
	b.Deny(b.rule("evm.token.USDC.max_transaction"), Blame{Slot: b.Field("amount")}, tail)
}

func (b exampleBuilder) tool(tail Label) {
	b.Class(Tool)
	b.ensure(OpIn, If, "action", b.texts("bash", "http", "web_fetch", "email.send"), "tool_calls.allowed")
	bash, web, mail := b.NewLabel(), b.NewLabel(), b.NewLabel()
	b.Switch(b.Field("action"), tail, Case{Text: "bash", To: bash}, Case{Text: "http", To: web}, Case{Text: "web_fetch", To: web}, Case{Text: "email.send", To: mail})
	b.Place(bash)
	b.ensure(OpContains, Unless, "@commands", b.texts("rm -rf", "mkfs", "curl", "shutdown"), "tool_calls.bash.blocked_commands")
	b.Jump(tail)
	b.Place(web)
	b.Test(OpHost, Unless, b.Field("@host"), b.Hosts("evil.example", "pastebin.com", "169.254.169.254"), tail)
	b.Deny(b.rule("tool_calls.web_fetch.blocked_domains"), Blame{Slot: b.Field("@host")}, tail)
	b.Place(mail)
	b.ensure(OpEnds, If|Every, "to", b.texts("@example.com", "@example.org"), "tool_calls.email.allowed_recipients")
}

func text(s string) Value { return Value{Kind: String, Text: s} }

func texts(list ...string) (v Value) {
	v.Kind = List
	for _, s := range list {
		v.Elems = append(v.Elems, text(s))
	}
	return v
}

// frameOf fills a frame by field names.
func (p *Program) frameOf(values map[string]Value) []Value {
	frame := make([]Value, len(p.fields))
	for name, v := range values {
		if slot, ok := p.Slot(name); ok {
			frame[slot] = v
		}
	}
	return frame
}

// exampleFrames are requests for [example], with the rule that each violates.
func exampleFrames() map[string]struct {
	rule   string
	values map[string]Value
} {
	type request = struct {
		rule   string
		values map[string]Value
	}
	with := func(rule string, values map[string]Value) request {
		for name, v := range map[string]Value{
			"@strings":     texts("demo-agent", "wallet.transfer", "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", "1.5", "staging", "monthly payout for the team"),
			"metadata.env": text("staging"), "metadata.note": text("monthly payout for the team"),
		} {
			if _, have := values[name]; !have {
				values[name] = v
			}
		}
		return request{rule, values}
	}
	token := map[string]Value{"action": text("wallet.transfer"), "chainId": {Kind: Number, Text: "8453"}, "token": text("USDC"),
		"targetAddress": text("0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"), "amount": text("250.50")}
	return map[string]request{
		"token":   with("", token),
		"native":  with("", map[string]Value{"action": text("wallet.transfer"), "chainId": {Kind: Number, Text: "1"}, "amount": text("5")}),
		"exceeds": with("evm.max_transaction_eth", map[string]Value{"action": text("wallet.transfer"), "chainId": {Kind: Number, Text: "1"}, "amount": text("5.000000000000000001")}),
		"chain":   with("evm.allowed_chains", map[string]Value{"action": text("wallet.transfer"), "chainId": {Kind: Number, Text: "10"}, "amount": text("1")}),
		"bash": with("", map[string]Value{"action": text("bash"),
			"@commands": texts("ls -la /srv/app && cat README.md", "ls -la /srv/app && cat README.md", "ls -la /srv/app", "cat README.md")}),
		"blocked": with("tool_calls.bash.blocked_commands", map[string]Value{"action": text("bash"),
			"@commands": texts("ls; rm  -rf /", "ls; rm -rf /", "ls", "rm -rf /")}),
		"web":  with("tool_calls.web_fetch.blocked_domains", map[string]Value{"action": text("web_fetch"), "@host": text("raw.pastebin.com")}),
		"mail": with("", map[string]Value{"action": text("email.send"), "to": texts("a@example.com", "b@example.org")}),
		"env":  with("custom.allow_only.metadata.env", map[string]Value{"action": text("email.send"), "to": texts("a@example.com"), "metadata.env": text("dev")}),
	}
}

// TestExample holds the example's verdicts, and that runs allocate nothing.
func TestExample(t *testing.T) {
	p := example(t)
	var m Machine
	for name, request := range exampleFrames() {
		frame := p.frameOf(request.values)
		for _, mode := range []Mode{First, All} {
			r := m.Run(p, frame, mode)
			rule := ""
			if len(r.Violations) > 0 {
				rule = p.Rule(r.Violations[0].Rule).Name
			}
			if rule != request.rule || (r.Status == Allowed) != (rule == "") {
				t.Errorf("%s: %s by %q, want %q", name, r.Status, rule, request.rule)
			}
			if n := testing.AllocsPerRun(20, func() { m.Run(p, frame, mode) }); n != 0 {
				t.Errorf("%s: a run allocates %v times", name, n)
			}
		}
	}
}

func BenchmarkRun(b *testing.B) {
	p := example(b)
	for name, request := range exampleFrames() {
		frame := p.frameOf(request.values)
		b.Run(name, func(b *testing.B) {
			var m Machine
			b.ReportAllocs()
			for b.Loop() {
				m.Run(p, frame, First)
			}
		})
	}
}

// BenchmarkFloor is the example's rules for a token transfer as Go code over the same frame: what a machine
// could at best take.
func BenchmarkFloor(b *testing.B) {
	p := example(b)
	frame := p.frameOf(exampleFrames()["token"].values)
	slot := func(name string) int { s, _ := p.Slot(name); return int(s) }
	all, note, action, chain := slot("@strings"), slot("metadata.note"), slot("action"), slot("chainId")
	token, target, value, env := slot("token"), slot("targetAddress"), slot("amount"), slot("metadata.env")
	limit := amount.FromUint64(1000_000000)
	allowed := func() bool {
		for i := range frame[all].Elems {
			if strings.Contains(frame[all].Elems[i].Text, "BEGIN PRIVATE KEY") {
				return false
			}
		}
		if strings.Contains(frame[note].Text, "internal") {
			return false
		}
		switch frame[action].Text {
		case "wallet.transfer", "contract.call":
		default:
			return false
		}
		if id := frame[chain].Text; id != "1" && id != "8453" || frame[token].Text != "USDC" ||
			frame[target].Text != "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48" {
			return false
		}
		a, err := amount.Parse(frame[value].Text, 6)
		e := frame[env].Text
		return err == nil && a.Cmp(limit) <= 0 && (e == "staging" || e == "production")
	}
	for b.Loop() {
		if !allowed() {
			b.Fatal("denied")
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	data, _ := example(b).MarshalBinary()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}
