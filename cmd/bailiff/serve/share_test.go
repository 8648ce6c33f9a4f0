package serve

import (
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

// TestAloneAmongPeers: an instance is not ready that has reached no other one for long.
func TestAloneAmongPeers(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	r := &service{settings: &cmdsettings.Settings{StoreLease: cmdsettings.Lease(2 * time.Second)}, clock: func() time.Time { return now }}
	if check := r.checkPeers(); !check.Ready {
		t.Errorf("another one is reached: %+v", check)
	}
	for alone, ready := range map[time.Duration]bool{0: true, 6 * time.Second: true, 7 * time.Second: false} {
		r.peers.alone.Store(now.Add(-alone).UnixNano())
		if check := r.checkPeers(); check.Ready != ready {
			t.Errorf("after %s: %+v", alone, check)
		}
	}
}
