package intent

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"bailiff/fuzz/kit/seed"
	"bailiff/vm"
	"bailiff/vm/slot"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

// spellings are for each form texts of one value, the normal one first.
var spellings = map[slot.Form][]string{
	slot.Text:    {"to " + small + ".", "to " + checksummed + ".", "to " + upper + "."},
	slot.Lower:   {"email.send", "EMAIL.send", "Email.Send"},
	slot.Address: {small, checksummed, upper},
	slot.Hex:     {"0xa9059cbb", "0xA9059CBB", "0xa9059cBB"},
	slot.Token:   {"usdc", "USDC", small, checksummed},
	slot.Amount:  {"0.2", "0.20", "00.200000"},
	slot.Decimal: {"0.2", "0.20", "00.200000"},
	slot.Mailbox: {"ann@x.org", "Ann@X.org", " <ann@x.org>", "Ann <ann@X.ORG>"},
	slot.Host:    {"example.com", "EXAMPLE.com", "example.com."},
	slot.URL:     {"https://example.com/~a", "HTTPS://Example.com:443/%7ea#b"},
	slot.Escapes: {"/~a%2F", "/%7ea%2f"},
	slot.Path:    {"/a/b", `\a//./b/`, "//a/b"},
}

const (
	small = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"
	upper = "0x833589FCD6EDB6E08F4C7C32D4F71B54BDA02913"
)

var usdc = NewTokens([]vm.Token{{Symbol: "usdc", Decimals: 6, Pins: []vm.Pin{{Address: small}}}})

// respelled returns a request in which every field that has spellings has one, chosen by pick.
func respelled(mail, web bool, pick func(n int) int) string {
	one := func(form slot.Form) string {
		all := spellings[form]
		return fmt.Sprintf("%q", all[pick(len(all))])
	}
	amount := `"amount":` + one(slot.Amount)
	if pick(2) == 1 {
		amount = `"amount":"200000","amount_unit":"base"`
	}
	inside := []string{amount, `"token":` + one(slot.Token), `"targetAddress":` + one(slot.Address), `"calldata":` + one(slot.Hex)}
	arguments := `{"a":[{"b":` + one(slot.Text) + `}],"n":` + []string{"1", "1.0", "1e0"}[pick(3)] + `}`
	metadata := `"note":` + one(slot.Text)
	if pick(2) == 0 {
		inside = append(inside, `"arguments":`+arguments)
	} else {
		metadata += `,"arguments":` + arguments
	}
	inside = append(inside, `"metadata":{`+metadata+`}`)
	if mail {
		inside = append(inside, `"action":`+one(slot.Lower), `"to":[`+one(slot.Mailbox)+`]`)
	} else {
		inside = append(inside, `"action":"note"`, `"to":`+one(slot.Text))
	}
	if web {
		inside = append(inside, `"url":`+one(slot.URL))
	} else {
		inside = append(inside, `"host":`+one(slot.Host), `"path":`+one(slot.Path))
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
		for _, row := range slot.Rows() {
			name := row.Name
			if row.Members {
				name = EachPrefix + name + ".a.b"
			}
			if name == slot.AmountUnit.Name {
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
	for _, form := range slot.Forms() {
		all := spellings[form]
		if form == slot.Unit {
			continue // it is part of how an amount is spelled, and no value of its own
		}
		if len(all) < 2 {
			t.Errorf("%s has no spellings", form)
			continue
		}
		for _, text := range all {
			if normal, ok := form.Normal(text); form != slot.Token && (!ok || normal != all[0]) {
				t.Errorf("%s %q: %q, want %q", form, text, normal, all[0])
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
