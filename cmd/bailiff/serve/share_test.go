package serve

import (
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	cmdsettings "bailiff/cmd/bailiff/settings"
)

// TestFitsSlots: instances of a store of several slots ask each other, so that none starts that can't be asked, or would be asked by anybody.
func TestFitsSlots(t *testing.T) {
	for _, row := range []struct {
		listen, certificate string
		fits                bool
	}{
		{"127.0.0.1:1", "one.pem", true},
		{"127.0.0.1:1", "", false}, // any process of the machine could ask
		{"", "", false},
	} {
		r := &service{settings: &cmdsettings.Settings{PeerListen: cmdsettings.Address(row.listen), PeerCert: row.certificate}}
		err := r.fitsSlots()
		if (err == nil) != row.fits || err != nil && !strings.Contains(err.Error(), "SVC_PEER_CERT") {
			t.Errorf("listening at %q with %q: %v", row.listen, row.certificate, err)
		}
	}
}

// TestAloneAmongPeers: an instance is not ready that has reached no other one for long, and says which it does not reach where it reaches one.
func TestAloneAmongPeers(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	var said strings.Builder
	r := &service{
		settings: &cmdsettings.Settings{StoreLease: cmdsettings.Lease(2 * time.Second)}, clock: func() time.Time { return now },
		log: slog.New(slog.NewTextHandler(&said, nil)),
	}
	if check := r.checkPeers(); !check.Ready {
		t.Errorf("another one is reached: %+v", check)
	}
	for range 2 {
		r.peers.note("b", errors.New("refused"), now.Add(-7*time.Second))
		r.peers.note("c", fmt.Errorf("dialling: %w", x509.UnknownAuthorityError{}), now.Add(-7*time.Second))
		r.peers.note("d", errors.New("refused"), now.Add(-6*time.Second)) // it may be lost
		r.tellUnreached()
	}
	if check := r.checkPeers(); !check.Ready || !strings.HasSuffix(check.Reason, ": b; c, whose certificate is not good") || r.peers.missing.Load() != 2 {
		t.Errorf("two are not reached: %+v", check)
	}
	if text := said.String(); strings.Count(text, "level=WARN") != 1 || !strings.Contains(text, "b: refused; c: dialling") {
		t.Errorf("the log says: %s", text)
	}
	r.peers.note("b", nil, now)
	r.peers.note("c", nil, now)
	r.tellUnreached()
	if check := r.checkPeers(); strings.Contains(check.Reason, "can't") || r.peers.missing.Load() != 0 || !strings.Contains(said.String(), "reached again") {
		t.Errorf("all are reached again: %+v", check)
	}
	for alone, ready := range map[time.Duration]bool{0: true, 6 * time.Second: true, 7 * time.Second: false} {
		r.peers.alone.Store(now.Add(-alone).UnixNano())
		if check := r.checkPeers(); check.Ready != ready || strings.HasSuffix(check.Reason, ": ") {
			t.Errorf("after %s: %+v", alone, check)
		}
	}
}
