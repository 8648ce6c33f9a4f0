package vm

import (
	"strings"
	"testing"

	"bailiff/vm/amount"
	"bailiff/vm/match"
)

// The policy of ten rules by which policy engines are compared, and all of which look at one request: action and
// chain on lists, a native amount, a token's amount with its pinned address, blocked commands, blocked domains,
// recipients by pattern, a metadata field on a list, one that must not contain a text, a text that must be
// nowhere. The last of them denies the second request, so that both take all ten.
func tenRules(t testing.TB) *Program {
	t.Helper()
	b := exampleBuilder{NewBuilder("2.1.0"), t}
	b.ensure(OpIn, If, "action", b.texts("wallet.transfer", "contract.call", "bash", "http"), "action")
	b.ensure(OpIn, If, "chainId", b.texts("1", "10", "8453"), "chain")
	b.limit("value", b.ether(5), 18, "native")
	b.ensure(OpIn, If, "token", b.texts("USDC"), "token")
	b.ensure(OpIn, If, "targetAddress", b.texts("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"), "address")
	b.limit("amount", amount.FromUint64(1000_000000), 6, "token amount")
	b.ensure(OpContains, Unless, "@commands", b.texts("rm -rf", "mkfs", "curl"), "commands")
	b.ensure(OpHost, Unless, "@host", b.Hosts("evil.example", "pastebin.com", "169.254.169.254"), "domains")
	b.ensure(OpGlob, If|Every, "to", b.Globs(match.Mailbox, "*@example.com", "*@example.org"), "recipients")
	b.ensure(OpIn, If, "metadata.env", b.texts("staging", "production"), "environment")
	b.ensure(OpContains, Unless, "metadata.note", b.texts("internal"), "note")
	b.ensure(OpContains, Unless, "@text", b.texts("BEGIN PRIVATE KEY"), "text")
	b.End()
	p, err := b.Program()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// limit denies by rule what is no amount, or more than limit.
func (b exampleBuilder) limit(field string, limit amount.Amount, decimals uint8, name string) {
	loaded, over := b.NewLabel(), b.NewLabel()
	b.Load(0, b.Field(field), decimals, loaded)
	b.Deny(b.rule(name), Blame{Slot: b.Field(field)}, over)
	b.Place(loaded)
	b.Compare(OpGreater, Unless, 0, b.Amount(limit, decimals, "units"), over)
	b.Deny(b.rule(name), Blame{Slot: b.Field(field)}, over)
	b.Place(over)
}

// A tenRequest is what the ten rules look at, decoded.
type tenRequest struct {
	action, chain, value, token, target, amount, command, host, env, note, text string
	to                                                                          []string
}

// tenRequests are a request that the ten rules allow and one that the last of them denies.
var tenRequests = func() (requests [2]tenRequest) {
	r := tenRequest{action: "wallet.transfer", chain: "8453", value: "1.5", token: "USDC",
		target: "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", amount: "250.50",
		command: "ls -la /srv/app && cat README.md", host: "api.example.net",
		to: []string{"ann@example.com", "bob@example.org"}, env: "staging", note: "monthly payout for the team"}
	for i, last := range []string{"reference 2026-11", "-----BEGIN PRIVATE KEY-----"} {
		r.text = strings.Join([]string{"demo-agent", r.action, r.target, r.value, r.amount, r.env, r.note, last}, "\n")
		requests[i] = r
	}
	return requests
}()

func (r *tenRequest) frame(p *Program) []Value {
	return p.frameOf(map[string]Value{"action": text(r.action), "chainId": {Kind: Number, Text: r.chain}, "value": text(r.value),
		"token": text(r.token), "targetAddress": text(r.target), "amount": text(r.amount), "@commands": text(r.command),
		"@host": text(r.host), "to": texts(r.to...), "metadata.env": text(r.env), "metadata.note": text(r.note), "@text": text(r.text)})
}

// allowed is the ten rules as a Go programmer would write them, without saying which of them it was.
func (r *tenRequest) allowed(ether, dollars amount.Amount) bool {
	switch r.action {
	case "wallet.transfer", "contract.call", "bash", "http":
	default:
		return false
	}
	if r.chain != "1" && r.chain != "10" && r.chain != "8453" {
		return false
	}
	if value, err := amount.Parse(r.value, 18); err != nil || value.Cmp(ether) > 0 {
		return false
	}
	if r.token != "USDC" || !strings.EqualFold(r.target, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48") {
		return false
	}
	if value, err := amount.Parse(r.amount, 6); err != nil || value.Cmp(dollars) > 0 {
		return false
	}
	if strings.Contains(r.command, "rm -rf") || strings.Contains(r.command, "mkfs") || strings.Contains(r.command, "curl") {
		return false
	}
	if below(r.host, "evil.example") || below(r.host, "pastebin.com") || r.host == "169.254.169.254" {
		return false
	}
	for _, to := range r.to {
		name, domain, _ := strings.Cut(to, "@")
		if name == to || domain != "example.com" && domain != "example.org" {
			return false
		}
	}
	return (r.env == "staging" || r.env == "production") &&
		!strings.Contains(r.note, "internal") && !strings.Contains(r.text, "BEGIN PRIVATE KEY")
}

func below(host, domain string) bool {
	return strings.HasSuffix(host, domain) && (len(host) == len(domain) || host[len(host)-len(domain)-1] == '.')
}

// TestTenRules holds that the machine and the function by hand say the same, and that a run allocates nothing.
func TestTenRules(t *testing.T) {
	p := tenRules(t)
	ether, dollars := exampleBuilder{t: t}.ether(5), amount.FromUint64(1000_000000)
	var m Machine
	for i, want := range []bool{true, false} {
		r := tenRequests[i]
		frame := r.frame(p)
		if got := m.Run(p, frame, First).Status == Allowed; got != want || r.allowed(ether, dollars) != want {
			t.Errorf("request %d: the machine says %v, by hand it is %v; want %v", i, got, r.allowed(ether, dollars), want)
		}
		if n := testing.AllocsPerRun(20, func() { m.Run(p, frame, First) }); n != 0 {
			t.Errorf("request %d: a run allocates %v times", i, n)
		}
	}
	for name, spoil := range map[string]func(*tenRequest){
		"action":       func(r *tenRequest) { r.action = "sudo" },
		"chain":        func(r *tenRequest) { r.chain = "5" },
		"native":       func(r *tenRequest) { r.value = "5.000000000000000001" },
		"token":        func(r *tenRequest) { r.token = "USDT" },
		"address":      func(r *tenRequest) { r.target = "0x00" + r.target[4:] },
		"token amount": func(r *tenRequest) { r.amount = "1000.000001" },
		"commands":     func(r *tenRequest) { r.command = "ls; rm -rf /" },
		"domains":      func(r *tenRequest) { r.host = "raw.pastebin.com" },
		"recipients":   func(r *tenRequest) { r.to = append([]string{"eve@example.net"}, r.to...) },
		"environment":  func(r *tenRequest) { r.env = "" },
		"note":         func(r *tenRequest) { r.note = "for internal use" },
		"text":         func(r *tenRequest) { r.text = "BEGIN PRIVATE KEY" },
	} {
		r := tenRequests[0]
		spoil(&r)
		result := m.Run(p, r.frame(p), First)
		if result.Status != Denied || p.Rule(result.Violations[0].Rule).Name != name || r.allowed(ether, dollars) {
			t.Errorf("%s: the machine says %v, by hand it is allowed: %v", name, result, r.allowed(ether, dollars))
		}
	}
}

// BenchmarkTenRules is the machine beside the function by hand. The target: within 1.5 times of it.
func BenchmarkTenRules(b *testing.B) {
	p := tenRules(b)
	ether, dollars := exampleBuilder{t: b}.ether(5), amount.FromUint64(1000_000000)
	for i, name := range []string{"allowed", "denied"} {
		r := &tenRequests[i]
		frame := r.frame(p)
		b.Run("machine/"+name, func(b *testing.B) {
			var m Machine
			b.ReportAllocs()
			for b.Loop() {
				if (m.Run(p, frame, First).Status == Allowed) != (i == 0) {
					b.Fatal("wrong")
				}
			}
		})
		b.Run("by-hand/"+name, func(b *testing.B) {
			for b.Loop() {
				if r.allowed(ether, dollars) != (i == 0) {
					b.Fatal("wrong")
				}
			}
		})
	}
}
