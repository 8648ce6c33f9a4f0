package conform_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/conform"
	"bailiff/fuzz/conform/falsify"
	"bailiff/fuzz/kit/seed"
)

// TestSigned: a second run of a report's blocks has its digests. Planted are reports that are falsified: in a digit, in the
// digest of one block under a good signature, in the cases, by a block that is left out, and about a service that answers otherwise.
func TestSigned(t *testing.T) {
	w, key, random := serveHere(t), newKey(t), rand.New(rand.NewPCG(uint64(seed.Value(t)), 0))
	public := key.Public().(ed25519.PublicKey)
	config := w.config(seed.Value(t), 500, conform.Core, conform.Limits, conform.Holds, conform.Attestation)
	config.Blocks, config.Workers = true, 2
	report, err := conform.Run(context.Background(), config)
	must(t, err)
	if !report.Conforms() || len(report.Blocks) < 2 {
		t.Fatalf("%d blocks\n%s", len(report.Blocks), text(t, report))
	}
	signed, err := conform.Sign(key, "test", time.Now(), report)
	must(t, err)
	opened, err := conform.OpenSigned(public, signed)
	must(t, err)
	again, err := conform.RunAgain(context.Background(), config, opened.Report, time.Hour, random)
	must(t, err)
	if len(again.Differences) > 0 || again.Blocks != len(report.Blocks) {
		t.Errorf("a second run differs: %+v", again)
	}
	t.Logf("%d blocks, %d cases", again.Blocks, again.Cases)

	if _, err := conform.OpenSigned(public, []byte(strings.Replace(string(signed), `"cases": `, `"cases": 1`, 1))); err == nil {
		t.Error("a changed text is opened")
	}
	if _, err := conform.OpenSigned(newKey(t).Public().(ed25519.PublicKey), signed); err == nil {
		t.Error("another's signature is opened")
	}
	for name, falsified := range map[string]func(*conform.Report){
		"more cases":      func(r *conform.Report) { r.Cases += 1000 },
		"a block is gone": func(r *conform.Report) { r.Blocks = r.Blocks[1:] },
		"no blocks":       func(r *conform.Report) { r.Blocks = nil },
		"it diverged":     func(r *conform.Report) { r.Blocks[0].Digest = "" },
	} {
		r := planted(t, report, falsified)
		signed, err := conform.Sign(key, "test", time.Now(), r)
		must(t, err)
		if _, err := conform.OpenSigned(public, signed); err == nil {
			t.Errorf("%s: it is opened", name)
		}
	}
	one := planted(t, report, func(r *conform.Report) { r.Blocks[1].Digest = r.Blocks[0].Digest })
	if again, err = conform.RunAgain(context.Background(), config, one, time.Hour, random); err != nil || len(again.Differences) != 1 {
		t.Errorf("a falsified digest: %+v, %v", again, err)
	}
	for _, mutant := range falsify.Named() { // the first ones need what these cases may not have
		config.Front = falsify.Front(mutant)
		if again, err = conform.RunAgain(context.Background(), config, report, time.Hour, random); err == nil && len(again.Differences) > 0 {
			return
		}
	}
	t.Error("a service that answers otherwise than the report says is not found")
}

// planted is a copy of a report with a fault.
func planted(t *testing.T, r *conform.Report, fault func(*conform.Report)) *conform.Report {
	t.Helper()
	text, err := json.Marshal(r)
	must(t, err)
	other := new(conform.Report)
	must(t, json.Unmarshal(text, other))
	fault(other)
	return other
}
