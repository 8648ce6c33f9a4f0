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
	r := &service{settings: &cmdsettings.Settings{StoreLease: cmdsettings.Lease(2 * time.Second)}}
	for looks, ready := range map[int64]bool{0: true, 6: true, 7: false} {
		r.peers.alone.Store(looks)
		if check := r.checkPeers(); check.Ready != ready {
			t.Errorf("after %d looks: %+v", looks, check)
		}
	}
}
