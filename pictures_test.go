package bailiff_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bailiff/fuzz/kit/page"
	"bailiff/fuzz/kit/picture"
	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
)

var (
	attestationLife = fmt.Sprintf("%d seconds", attest.LifetimeSeconds)
	holdLife        = fmt.Sprintf("%.0f hours", ledger.HoldLifetime.Hours())
)

// shownIn are the pages that show the pictures which docs/README.md does not show.
var shownIn = map[string]string{"many-machines": "docs/many-machines.md"}

// drawn are the pictures of the documents, docs/images/NAME.svg.
var drawn = map[string]picture.Picture{
	"decision": {
		Says: "An intent is decoded, admitted, judged by the signed policy, and recorded; the answer is allowed, denied or pending, and an allowed write passes the gateway with its attestation.",
		Boxes: []picture.Box{
			{Column: 0, Row: 0, Lines: []string{"Agent", "sends an intent"}},
			{Column: 1, Row: 0, Lines: []string{"Decode", "fields, forms, hash", "else 400"}},
			{Column: 2, Row: 0, Lines: []string{"Admit", "key, policy, rates", "else 401, 403, 409, 429"}},
			{Column: 2, Row: 1, Lines: []string{"Judge", "the program of the policy", "runs on the intent"}},
			{Column: 1, Row: 1, Lines: []string{"Record", "counters, hold and event", "reach the disk together"}},
			{Column: 0, Row: 2, End: "bad", Lines: []string{"DENIED", "code, rule, message"}},
			{Column: 1, Row: 2, End: "wait", Lines: []string{"PENDING", "a person decides, and", "the agent asks again"}},
			{Column: 2, Row: 2, End: "good", Lines: []string{"ALLOWED", "with an attestation"}},
			{Column: 2, Row: 3, Lines: []string{"Gateway", "checks the attestation", "and uses it up"}},
			{Column: 1, Row: 3, Lines: []string{"Node or bundler", "gets the transaction"}},
		},
		Arrows: []picture.Arrow{
			{From: "Agent", To: "Decode"}, {From: "Decode", To: "Admit"}, {From: "Admit", To: "Judge"}, {From: "Judge", To: "Record"},
			{From: "Record", To: "DENIED"}, {From: "Record", To: "PENDING"}, {From: "Record", To: "ALLOWED"},
			{From: "ALLOWED", To: "Gateway"}, {From: "Gateway", To: "Node or bundler"},
		},
	},
	"hold": {
		Says: "A hold is pending until the operator approves or denies it; an approval is used by one request; after " + holdLife + " the hold has expired.",
		Boxes: []picture.Box{
			{Column: 0, Row: 0, Lines: []string{"Intent", "a rule wants a person"}},
			{Column: 1, Row: 0, End: "wait", Lines: []string{"Pending", "asking again finds", "the same hold"}},
			{Column: 0, Row: 1, Lines: []string{"Approved", "signed by the operator"}},
			{Column: 1, Row: 1, Lines: []string{"Denied", "signed by the operator"}},
			{Column: 2, Row: 1, Lines: []string{"Expired", holdLife + " after opening,", "resolved or not"}},
			{Column: 0, Row: 2, End: "good", Lines: []string{"Used", "the next such request", "is ALLOWED, once"}},
			{Column: 1, Row: 2, End: "bad", Lines: []string{"Refused", "the intent gets 403", "until the hold expires"}},
			{Column: 2, Row: 2, Lines: []string{"Forgotten", "the intent opens", "a new hold"}},
		},
		Arrows: []picture.Arrow{
			{From: "Intent", To: "Pending"}, {From: "Pending", To: "Approved"}, {From: "Pending", To: "Denied"}, {From: "Pending", To: "Expired"},
			{From: "Approved", To: "Used"}, {From: "Denied", To: "Refused"}, {From: "Expired", To: "Forgotten"},
		},
	},
	"attestation": {
		Says: "An attestation is issued with an allowed decision, is checked by a gateway or any other executor, and is used once within " + attestationLife + ".",
		Boxes: []picture.Box{
			{Column: 0, Row: 0, Lines: []string{"Issued", "with a recorded decision,", "signed twice"}},
			{Column: 1, Row: 0, Lines: []string{"Presented", "to a gateway, or to", "another executor"}},
			{Column: 2, Row: 0, Lines: []string{"Checked", "signatures, time, key,", "policy, transaction"}},
			{Column: 0, Row: 1, Lines: []string{"Expired", attestationLife + " after issue"}},
			{Column: 1, Row: 1, End: "bad", Lines: []string{"Refused", "something does not fit, or", "it was used before"}},
			{Column: 2, Row: 1, End: "good", Lines: []string{"Used", "recorded on disk, then", "the write is submitted"}},
		},
		Arrows: []picture.Arrow{
			{From: "Issued", To: "Presented"}, {From: "Presented", To: "Checked"}, {From: "Issued", To: "Expired"},
			{From: "Checked", To: "Refused"}, {From: "Checked", To: "Used"}, {From: "Expired", To: "Refused"},
		},
	},
	"many-machines": {
		Says: "Clients ask any of three instances through a load balancer. An instance that does not have the API key's slot passes the request on, once and over mutual TLS, to the one that has it. That one judges, records the decision in the slot's log in the primary, which its standby confirms, and returns the claims of an attestation, which the first one signs. All instances speak with the primary.",
		Boxes: []picture.Box{
			{Column: 0, Row: 0, Lines: []string{"Clients", "know one address"}},
			{Column: 1, Row: 0, Lines: []string{"Load balancer", "asks GET /readyz,", "knows nothing of keys"}},
			{Column: 0, Row: 1, Lines: []string{"Instance one", "has slots 0 to 5: passes", "the request on, and signs", "what the other one allows"}},
			{Column: 1, Row: 1, Lines: []string{"Instance two", "has slots 6 to 11, and the", "key's among them: judges,", "records, returns claims"}},
			{Column: 2, Row: 1, Lines: []string{"Instance three", "has slots 12 to 16:", "not asked"}},
			{Column: 1, Row: 2, Lines: []string{"Primary", "PostgreSQL: a log of each", "slot, its owner and term"}},
			{Column: 2, Row: 2, Lines: []string{"Standby", "has each decision before", "it is told, and is", "promoted if need be"}},
		},
		Arrows: []picture.Arrow{
			{From: "Clients", To: "Load balancer"}, {From: "Load balancer", To: "Instance one"}, {From: "Load balancer", To: "Instance two"},
			{From: "Load balancer", To: "Instance three"}, {From: "Instance one", To: "Instance two", Label: "once, TLS"},
			{From: "Instance one", To: "Primary"}, {From: "Instance two", To: "Primary"}, {From: "Instance three", To: "Primary"},
			{From: "Primary", To: "Standby", Label: "commits"},
		},
	},
}

// TestPictures holds the pictures to what they are drawn from: go test . -run TestPictures -rewrite.
func TestPictures(t *testing.T) {
	for name, p := range drawn {
		svg, err := p.SVG()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("docs", "images", name+".svg")
		page.Whole(t, path, "go test . -run TestPictures -rewrite", svg)
		front := cmp.Or(shownIn[name], "docs/README.md")
		text, err := os.ReadFile(front)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "](images/"+name+".svg)") {
			t.Errorf("%s does not show %s", front, path)
		}
	}
}

func TestPicturesThatDoNotFit(t *testing.T) {
	one := picture.Box{Lines: []string{"one"}}
	for _, wrong := range []picture.Picture{
		{Boxes: []picture.Box{one, {Lines: []string{"two"}}}},
		{Boxes: []picture.Box{{Lines: []string{strings.Repeat("x", 27)}}}},
		{Boxes: []picture.Box{one}, Arrows: []picture.Arrow{{From: "one", To: "two"}}},
	} {
		if svg, err := wrong.SVG(); err == nil {
			t.Errorf("%+v was drawn: %s", wrong, svg)
		}
	}
}
