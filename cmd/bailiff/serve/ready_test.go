package serve

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"bailiff/httpd"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
)

// TestChecks: each part fails its check alone, and no reason names what only the operator should see.
func TestChecks(t *testing.T) {
	signer, err := attest.LoadOrCreate(t.TempDir(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	lost := fmt.Errorf("%w: /secret/path", ledger.ErrUnavailable)
	for _, row := range []struct {
		check  httpd.Check
		name   string
		ready  bool
		reason string
	}{
		{checkLedger(nil), "ledger", true, "takes decisions"},
		{checkLedger(lost), "ledger", false, "refuses"},
		{checkLedger(fmt.Errorf("%w: /secret/path", ledger.ErrBusy)), "ledger", true, "reports trouble"},
		{checkLedger(errors.New("/secret/path")), "ledger", true, "reports trouble"},
		{checkDisk(NoBytes-1, nil), "disk", false, "127 MiB are free"},
		{checkDisk(NoBytes, nil), "disk", true, "only 128 MiB"},
		{checkDisk(ScarceBytes, nil), "disk", true, "there is room"},
		{checkDisk(ScarceBytes, errors.New("/secret/path")), "disk", false, "cannot be found out"},
		{checkClock(nil), "clock", true, "relied on"},
		{checkClock(&clock.Doubt{}), "clock", false, "bailiff clock accept"},
		{checkSigning(signer, time.Now()), "signing", true, "both keys sign"},
	} {
		if row.check.Name != row.name || row.check.Ready != row.ready || !strings.Contains(row.check.Reason, row.reason) || strings.Contains(row.check.Reason, "secret") {
			t.Errorf("%+v, want %s %t %s", row.check, row.name, row.ready, row.reason)
		}
	}
}

// TestReadiness: a service is not ready before its first look, while it ends, or when the looks have stopped.
func TestReadiness(t *testing.T) {
	signer, err := attest.LoadOrCreate(t.TempDir(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	r := &readiness{
		ledger: func() []httpd.Check { return []httpd.Check{checkLedger(nil)} }, hosted: true, signer: signer, clock: func() time.Time { return now }, guard: clock.NewGuarded(clock.SystemSources()),
		free: func() (uint64, error) { return ScarceBytes, nil },
	}
	told := func() string {
		for _, check := range r.checks() {
			if !check.Ready {
				return check.Name + ": " + check.Reason
			}
		}
		return "ready"
	}
	if got := told(); got != "service: it is starting" {
		t.Error(got)
	}
	if err := r.look(t.Context()); err != nil || told() != "ready" || len(r.checks()) != 5 {
		t.Errorf("%v, %s: %+v", err, told(), r.checks())
	}
	now = now.Add(readyStale + time.Second)
	if got := told(); !strings.HasPrefix(got, "service: the checks have not run") {
		t.Error(got)
	}
	if err := r.look(t.Context()); err != nil || told() != "ready" {
		t.Errorf("%v, %s", err, told())
	}
	r.free = func() (uint64, error) { return 0, nil }
	if err := r.look(t.Context()); err != nil || !strings.HasPrefix(told(), "disk: 0 MiB are free") {
		t.Errorf("%v, %s", err, told())
	}
	r.ending.Store(true)
	if got := told(); got != "service: it is ending" {
		t.Error(got)
	}
}
