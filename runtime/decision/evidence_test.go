package decision

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"bailiff/runtime/attest"
	"bailiff/runtime/events"
	"bailiff/runtime/evidence"
	"bailiff/runtime/ledger"
)

// proven is a town with a key whose hold was allowed and used up, the admin of the town, and the events of the key's decisions.
func proven(t *testing.T) (h *town, admin *Admin, lsns map[string]uint64, operatorKey string) {
	t.Helper()
	h, secret, by := holding(t)
	key := h.key(secret)
	h.ask(key, bashIntent)
	held := h.openHold(secret)
	h.pass(time.Minute)
	if _, fault := h.resolve(secret, by, held, "ALLOWED", h.Clock().Unix()); fault != nil {
		t.Fatal(fault)
	}
	if answer, fault := h.ask(h.key(secret), deployIntent); fault != nil || answer.Status != "ALLOWED" {
		t.Fatalf("after the approval: %+v %v", answer, fault)
	}
	h.ask(key, `{"action":"other"}`)
	admin = h.Admin()
	view, fault := h.Events(context.Background(), key, events.Query{})
	if fault != nil {
		t.Fatal(fault)
	}
	lsns = map[string]uint64{}
	for _, e := range view.Events {
		name := e.Event
		if e.Decision != "" {
			name = e.Decision + " " + e.Action
		}
		lsns[name] = e.LSN
	}
	return h, admin, lsns, attest.FormatOperatorKey(key.Operator[:])
}

// bundle exports the evidence for an event, as text.
func bundle(t *testing.T, admin *Admin, id string) []byte {
	t.Helper()
	b, err := admin.Evidence(t.Context(), id, "")
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	text, err := json.MarshalIndent(b, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func verified(text []byte, trust evidence.Trust) (*evidence.Verified, error) {
	b, err := evidence.Read(text)
	if err != nil {
		return nil, err
	}
	return b.Verify(trust)
}

// TestEvidence: the bundle of every kind of event verifies with nothing else, and with the keys that are known from elsewhere.
func TestEvidence(t *testing.T) {
	h, admin, lsns, operator := proven(t)
	trust := evidence.Trust{JWKS: h.JWKS(), PQCKeys: h.PQCKeys(), Operator: operator}
	for name, lsn := range lsns {
		text := bundle(t, admin, strconv.FormatUint(lsn, 10))
		found, err := verified(text, evidence.Trust{})
		if err != nil || found.Event.LSN != lsn {
			t.Errorf("%s: %+v, %v", name, found, err)
			continue
		}
		if found.Event.Decision != "" {
			if _, err := verified(text, trust); err != nil {
				t.Errorf("%s, with known keys: %v", name, err)
			}
			if again := bundle(t, admin, found.Event.ID); !bytes.Contains(again, []byte(`"lsn": `+strconv.FormatUint(lsn, 10)+",")) {
				t.Errorf("%s is not found by its id %s", name, found.Event.ID)
			}
		}
	}
	for id, want := range map[string]error{
		"0": ledger.ErrNotFound, "1000": ledger.ErrNotFound, "99999999999999999999": ledger.ErrInvalid, "x": ledger.ErrInvalid, ledger.ID{7}.String(): ledger.ErrNotFound,
	} {
		if _, err := admin.Evidence(t.Context(), id, ""); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", id, err, want)
		}
	}
	h.Signer = nil // as where no service runs
	if _, err := admin.Evidence(t.Context(), "1", ""); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("without a service: %v", err)
	}
}

// flipped returns a text with one bit of the byte at a place changed.
func flipped(text []byte, at int) []byte {
	changed := bytes.Clone(text)
	changed[at] ^= 1
	return changed
}

// alterations alter a bundle of a decision that an operator allowed: what each does, and the part that an error names.
var alterations = []struct {
	name, part string
	alter      func(b *evidence.Bundle)
}{
	{"another record", "event", func(b *evidence.Bundle) { b.LSN++ }},
	{"a record that is not there", "groups", func(b *evidence.Bundle) { b.LSN = 1000 }},
	{"the event", "event", func(b *evidence.Bundle) { b.Event = bytes.Replace(b.Event, []byte("ALLOWED"), []byte("DENIED"), 1) }},
	{"no groups", "groups", func(b *evidence.Bundle) { b.Groups = nil }},
	{"one group less", "checkpoint", func(b *evidence.Bundle) { b.Groups = b.Groups[:len(b.Groups)-1] }},
	{"a group twice", "groups", func(b *evidence.Bundle) { b.Groups = append(b.Groups[:1:1], b.Groups...) }},
	{"groups in another order", "groups", func(b *evidence.Bundle) { b.Groups[0], b.Groups[1] = b.Groups[1], b.Groups[0] }},
	{"the checkpoint's text", "checkpoint", func(b *evidence.Bundle) { b.Checkpoint = strings.Replace(b.Checkpoint, "time 2026", "time 2027", 1) }},
	{"no checkpoint", "checkpoint", func(b *evidence.Bundle) { b.Checkpoint = "" }},
	{"no keys", "pqcKeys", func(b *evidence.Bundle) { b.JWKS = []byte(`{"keys":[]}`) }},
	{"another policy", "policy", func(b *evidence.Bundle) { b.Policy = strings.Replace(b.Policy, "version: 2", "version: 1", 1) }},
	{"no policy", "policy", func(b *evidence.Bundle) { b.Policy = "" }},
	{"the policy without its signature", "policy", func(b *evidence.Bundle) { b.Policy, _, _ = strings.Cut(b.Policy, "## signature") }},
	{"no operator", "operator", func(b *evidence.Bundle) { b.Operator = "" }},
	{"no approval", "approval", func(b *evidence.Bundle) { b.Approval = nil }},
	{"an approval's hold", "approval", func(b *evidence.Bundle) { b.Approval.HoldID = ledger.ID{1}.String() }},
	{"an approval's intent", "approval", func(b *evidence.Bundle) { b.Approval.IntentHash = strings.Repeat("0", 64) }},
	{"an approval's policy", "approval", func(b *evidence.Bundle) { b.Approval.PolicyHash = strings.Repeat("0", 64) }},
	{"an approval's decision", "approval", func(b *evidence.Bundle) { b.Approval.Decision = "DENIED" }},
	{"an approval's time", "approval", func(b *evidence.Bundle) { b.Approval.ResolvedAt = b.Approval.ResolvedAt.Add(time.Second) }},
	{"a part of a second", "approval", func(b *evidence.Bundle) { b.Approval.ResolvedAt = b.Approval.ResolvedAt.Add(1) }},
	{"an approval's signature", "approval", func(b *evidence.Bundle) { b.Approval.Signature = strings.Repeat("A", 86) }},
}

// readBundle reads a bundle that was just made.
func readBundle(t *testing.T, text []byte) *evidence.Bundle {
	t.Helper()
	b, err := evidence.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestEvidenceAltered alters each part of a bundle: none verifies, and the error names the part.
func TestEvidenceAltered(t *testing.T) {
	_, admin, lsns, _ := proven(t)
	text := bundle(t, admin, strconv.FormatUint(lsns["ALLOWED deploy.app"], 10))
	for _, row := range alterations {
		b := readBundle(t, text)
		row.alter(b)
		if _, err := b.Verify(evidence.Trust{}); !errors.Is(err, evidence.ErrBundle) || !strings.Contains(err.Error(), row.part+": ") {
			t.Errorf("%s: %v, which does not name %s", row.name, err, row.part)
		}
	}
	b := readBundle(t, text)
	for i, group := range b.Groups {
		for at := range group {
			b.Groups[i] = flipped(group, at)
			if _, err := b.Verify(evidence.Trust{}); !errors.Is(err, evidence.ErrBundle) {
				t.Fatalf("byte %d of group %d is altered: %v", at, i, err)
			}
		}
		b.Groups[i] = group
	}
}

// TestEvidenceExchanged puts parts of other bundles, and of strangers, into a bundle.
func TestEvidenceExchanged(t *testing.T) {
	h, admin, lsns, _ := proven(t)
	text := bundle(t, admin, strconv.FormatUint(lsns["ALLOWED deploy.app"], 10))
	other := bundle(t, admin, strconv.FormatUint(lsns["ALLOWED bash"], 10))
	stranger, err := attest.LoadOrCreate(t.TempDir(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := attest.GenerateOperatorKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, exchange := range map[string]func(b *evidence.Bundle){
		"another event":            func(b *evidence.Bundle) { b.Event = readBundle(t, other).Event },
		"a stranger's keys":        func(b *evidence.Bundle) { b.JWKS, b.PQCKeys = stranger.JWKS(h.Clock()), stranger.PQCKeys(h.Clock()) },
		"a stranger's Ed25519 key": func(b *evidence.Bundle) { b.JWKS = stranger.JWKS(h.Clock()) },
		"a stranger's ML-DSA key":  func(b *evidence.Bundle) { b.PQCKeys = stranger.PQCKeys(h.Clock()) },
		"another operator":         func(b *evidence.Bundle) { b.Operator = base64.RawURLEncoding.EncodeToString(private[32:]) },
		"an approval of what needed none": func(b *evidence.Bundle) {
			approval := b.Approval
			*b = *readBundle(t, other)
			b.Approval = approval
		},
		"a policy that judged nothing": func(b *evidence.Bundle) {
			policy := b.Policy
			*b = *readBundle(t, bundle(t, admin, "1"))
			b.Policy = policy
		},
	} {
		b := readBundle(t, text)
		exchange(b)
		if _, err := b.Verify(evidence.Trust{}); !errors.Is(err, evidence.ErrBundle) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, trust := range []evidence.Trust{{JWKS: stranger.JWKS(h.Clock()), PQCKeys: stranger.PQCKeys(h.Clock())}, {Operator: strings.Repeat("A", 43)}} {
		if _, err := verified(text, trust); !errors.Is(err, evidence.ErrBundle) {
			t.Errorf("with other keys than those trusted: %v", err)
		}
	}
}

// TestEvidenceForm refuses what is no bundle.
func TestEvidenceForm(t *testing.T) {
	for _, text := range []string{"", "[]", "{}", `{"version":2}`, `{"version":1,"more":1}`, `{"version":1} x`} {
		if _, err := evidence.Read([]byte(text)); !errors.Is(err, evidence.ErrBundle) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
