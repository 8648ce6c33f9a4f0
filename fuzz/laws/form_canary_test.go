package laws_test

import (
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"bailiff/fuzz/differential"
	"bailiff/fuzz/gen"
	"bailiff/fuzz/laws"
	"bailiff/runtime/attest"
	"bailiff/vm/slot"
)

// oneSpelling are the fields whose values can be spelled in one way alone, with the reason.
var oneSpelling = map[string]string{
	"framework": "lower case only", "txCommit": "lower case only", "request_nonce": "only echoed", "intent": "an object",
	"method": "exact", "amount_unit": "a part of the amount's form",
}

// TestEveryFieldHasAForm: a new field of requests has a form here, or a reason why it needs none.
func TestEveryFieldHasAForm(t *testing.T) {
	for _, row := range slot.Fields() {
		_, alone := oneSpelling[row.Name]
		if slices.Contains(gen.Forms(), row.Name) == alone {
			t.Errorf("%s needs a form in package gen, or a reason to have none", row.Name)
		}
	}
}

// asSent are the faults that each form is planted with: a denial, a group and the hash that read its values as they
// were sent.
var asSent = []struct {
	fault string
	plant func(*laws.House, string, *gen.Speller)
}{
	{"a denial knows the normal spelling alone", func(h *laws.House, form string, speller *gen.Speller) {
		judge := h.Judge
		h.Judge = func(b *differential.Bound, body []byte, shim bool) (*differential.Verdict, error) {
			verdict, err := judge(b, body, shim)
			if parsed, ok := gen.Parse(body); err == nil && ok && sent(form, body) == sent(form, speller.Normal(parsed).Append(nil)) {
				return &differential.Verdict{Status: "DENIED"}, nil
			}
			return verdict, err
		}
	}},
	{"a group reads it as sent", func(h *laws.House, form string, _ *gen.Speller) {
		judge := h.Judge
		h.Judge = func(b *differential.Bound, body []byte, shim bool) (*differential.Verdict, error) {
			verdict, err := judge(b, body, shim)
			if err == nil {
				verdict.Reservations = append(verdict.Reservations, differential.Reservation{Counter: "planted", Group: sent(form, body)})
			}
			return verdict, err
		}
	}},
	{"the hash reads it as sent", func(h *laws.House, form string, _ *gen.Speller) {
		hash := h.Hash
		h.Hash = func(b *differential.Bound, body []byte) (string, error) {
			text, err := hash(b, body)
			return text + sent(form, body), err
		}
	}},
}

// TestFormsCatch plants each fault for each form.
func TestFormsCatch(t *testing.T) {
	law := laws.Table[slices.IndexFunc(laws.Table, func(l laws.Law) bool { return l.Says == laws.OneForm })]
	for _, form := range gen.Forms() {
		for _, p := range asSent {
			t.Run(form+": "+p.fault, func(t *testing.T) {
				for n := range int64(law.Batches) {
					house, batch := laws.NewHouse(), batch(&law, n)
					p.plant(house, form, gen.NewSpeller(batch.Policy))
					if found(house, batch, form) {
						return
					}
				}
				t.Errorf("not found in %d batches", law.Batches)
			})
		}
	}
}

// found reports whether the law finds a fault where this form alone is not in normal spelling, so that it is the
// planted one.
func found(house *laws.House, b *gen.Batch, form string) (problem bool) {
	house.Respellings(b, func(pair *laws.Respelled) bool {
		problem = slices.Equal(pair.Changed, []string{form}) && pair.Problem() != ""
		return !problem
	})
	return problem
}

// sent returns what a body says of a form, as it is written.
func sent(form string, body []byte) string {
	top := members(body)
	intent := members(top["intent"])
	metadata := members(intent["metadata"])
	switch form {
	case "arguments":
		return string(intent["arguments"]) + "|" + string(metadata["arguments"])
	case "metadata":
		for _, other := range []string{"arguments", "serverId", "toolName"} {
			delete(metadata, other)
		}
		text, _ := json.Marshal(metadata)
		return string(text)
	case "amount":
		return string(intent["amount"]) + string(top["amount"]) + string(intent["amount_unit"])
	}
	if name, below := strings.CutPrefix(form, "metadata."); below {
		return string(metadata[name])
	}
	return string(top[form]) + string(intent[form])
}

func members(object []byte) map[string]json.RawMessage {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(object, &all)
	return all
}

// TestClaimsCatch plants claims, and holds, that follow the spelling of the request.
func TestClaimsCatch(t *testing.T) {
	signer, err := attest.LoadOrCreate(t.TempDir(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, plant := range map[string]func(*laws.Decided, *gen.Case){
		"claims": func(d *laws.Decided, c *gen.Case) {
			if d.Status == "ALLOWED" {
				d.Claims += sent("targetAddress", c.Bytes())
			}
		},
		"holds": func(d *laws.Decided, c *gen.Case) {
			if d.Status == "PENDING" {
				d.Hold += sent("action", c.Bytes())
			}
		},
	} {
		caught := false
		for n := range int64(200) {
			caught = caught || laws.ClaimsOfSpellings(gen.NewFocused(n, 20), signer, func(s *laws.Service, c *gen.Case) (laws.Decided, error) {
				decided, err := s.Authorize(c)
				plant(&decided, c)
				return decided, err
			}, map[string]int{}) != ""
		}
		if !caught {
			t.Errorf("%s that follow the spelling are not found", name)
		}
	}
}

// TestUsageCatches plants a service that forgets every third report.
func TestUsageCatches(t *testing.T) {
	signer, err := attest.LoadOrCreate(t.TempDir(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for n := range int64(100) {
		if laws.UsageParts(n, signer, func(s *laws.Service, c *gen.Case) (laws.Decided, error) {
			if calls++; calls%3 == 1 {
				return laws.Decided{Status: "ALLOWED"}, nil
			}
			return s.Authorize(c)
		}, map[string]int{}) != "" {
			return
		}
	}
	t.Error("a report that is forgotten was not found")
}
