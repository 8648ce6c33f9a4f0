package intent

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"bailiff/fuzz/kit/seed"
	"bailiff/vm"
	"bailiff/vm/form"
	"bailiff/vm/slot"
)

// spellings are for each form texts of one value, the normal one first.
var spellings = map[form.Form][]string{
	form.Text:    {"to " + small + ".", "to " + checksummed + ".", "to " + upper + "."},
	form.Lower:   {"email.send", "EMAIL.send", "Email.Send"},
	form.Address: {small, checksummed, upper},
	form.Hex:     {"0xa9059cbb", "0xA9059CBB", "0xa9059cBB"},
	form.Token:   {"usdc", "USDC", small, checksummed},
	form.Amount:  {"0.2", "0.20", "00.200000"},
	form.Decimal: {"0.2", "0.20", "00.200000"},
	form.Mailbox: {"ann@x.org", "Ann@X.org", " <ann@x.org>", "Ann <ann@X.ORG>"},
	form.Host:    {"example.com", "EXAMPLE.com", "example.com."},
	form.URL:     {"https://example.com/~a", "HTTPS://Example.com:443/%7ea#b"},
	form.Escapes: {"/~a%2F", "/%7ea%2f"},
	form.Path:    {"/a/b", `\a//./b/`, "//a/b"},
}

const (
	small = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"
	upper = "0x833589FCD6EDB6E08F4C7C32D4F71B54BDA02913"
)

var usdc = newTokens([]vm.Token{{Symbol: "usdc", Decimals: 6, Pins: []vm.Pin{{Address: small}}}})

// respelled returns a request in which every field that has spellings has one, chosen by pick.
func respelled(mail, web bool, pick func(n int) int) string {
	one := func(as form.Form) string {
		all := spellings[as]
		return fmt.Sprintf("%q", all[pick(len(all))])
	}
	amount := `"amount":` + one(form.Amount)
	if pick(2) == 1 {
		amount = `"amount":"200000","amount_unit":"base"`
	}
	inside := []string{amount, `"token":` + one(form.Token), `"targetAddress":` + one(form.Address), `"calldata":` + one(form.Hex)}
	arguments := `{"a":[{"b":` + one(form.Text) + `}],"n":` + []string{"1", "1.0", "1e0"}[pick(3)] + `}`
	metadata := `"note":` + one(form.Text)
	if pick(2) == 0 {
		inside = append(inside, `"arguments":`+arguments)
	} else {
		metadata += `,"arguments":` + arguments
	}
	inside = append(inside, `"metadata":{`+metadata+`}`)
	if mail {
		inside = append(inside, `"action":`+one(form.Lower), `"to":[`+one(form.Mailbox)+`]`)
	} else {
		inside = append(inside, `"action":"note"`, `"to":`+one(form.Text))
	}
	if web {
		inside = append(inside, `"url":`+one(form.URL))
	} else {
		inside = append(inside, `"host":`+one(form.Host), `"path":`+one(form.Path))
	}
	return `{"framework":"f","agentId":"a","chainId":1,"txCommit":"` + strings.Repeat("0", 64) + `","intent":{` + strings.Join(inside, ",") + `}}`
}

// differ returns how two requests that say the same are read differently, or "".
func differ(tokens *Tokens, normal, other string) string {
	var forms, values [2]string
	for i, body := range []string{normal, other} {
		in, err := NewDecoder(Options{}).Decode([]byte(body))
		if err != nil {
			return err.Error() + "\n" + body
		}
		forms[i] = string(in.Canonical(tokens, nil))
		for _, row := range slot.Ruled() {
			name := row.Name
			if row.Type.Object() {
				name = EachPrefix + name + ".a.b"
			}
			if row.Field == slot.AmountUnit {
				continue
			}
			found, err := resolve(name)
			if err != nil {
				return err.Error()
			}
			binding := &Binding{sources: []source{found}, tokens: tokens}
			var frame [1]vm.Value
			binding.Fill(in, Agent, nil, frame[:])
			values[i] += fmt.Sprintln(name, frame[0])
		}
	}
	switch {
	case forms[0] != forms[1]:
		return "canonical:\n" + forms[0] + "\n" + forms[1]
	case values[0] != values[1]:
		return "slots:\n" + values[0] + values[1]
	}
	return ""
}

// TestRespelled: whatever spelling a value has, slots and the canonical form are those of the normal one. Every form has
// spellings. The canary: without the tokens, the address of a token is another value than its symbol.
func TestRespelled(t *testing.T) {
	for _, as := range form.Forms() {
		all := spellings[as]
		if as == form.Unit {
			continue // it is part of how an amount is spelled, and no value of its own
		}
		if len(all) < 2 {
			t.Errorf("%s has no spellings", as)
			continue
		}
		for _, text := range all {
			if normal, ok := as.Normal(text); as != form.Token && (!ok || normal != all[0]) {
				t.Errorf("%s %q: %q, want %q", as, text, normal, all[0])
			}
		}
	}
	properties := gopter.NewProperties(seed.Parameters(t, 400))
	properties.Property("one value, one form", prop.ForAll(func(n int64, mail, web bool) string {
		return differ(usdc, respelled(mail, web, func(int) int { return 0 }), respelled(mail, web, rand.New(rand.NewSource(n)).Intn))
	}, gen.Int64(), gen.Bool(), gen.Bool()))
	properties.TestingRun(t)
	for n := range 100 {
		if differ(nil, respelled(false, false, func(int) int { return 0 }), respelled(false, false, rand.New(rand.NewSource(int64(n))).Intn)) != "" {
			return
		}
	}
	t.Error("nobody noticed that a token's address is another value than its symbol")
}

// TestAmountSent shows how a request wrote an amount that has base units.
func TestAmountSent(t *testing.T) {
	for intent, want := range map[string]string{
		`"amount":"1.50","token":"usdc"`:                         `"1.50"`,
		`"amount":"0200000","token":"USDC","amount_unit":"base"`: `"0200000", in amount_unit "base"`,
		`"amount":"1.0000001","token":"usdc"`:                    "", // an amount of no unit stays as it was sent
		`"amount":"5","token":"dai"`:                             "",
		`"metadata":{"note":"none"}`:                             "",
	} {
		request := `{"framework":"f","agentId":"a","chainId":1,"txCommit":"` + strings.Repeat("0", 64) + `","intent":{"action":"wallet.transfer","targetAddress":"` + small + `",` + intent + `}}`
		in, err := NewDecoder(Options{}).Decode([]byte(request))
		if err != nil {
			t.Fatalf("%s: %v", intent, err)
		}
		if got := in.AmountSent(usdc); got != want {
			t.Errorf("%s: %s, expected %s", intent, got, want)
		}
	}
}
