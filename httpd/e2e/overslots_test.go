package e2e

import (
	"encoding/json"
	"os"
	"slices"
	"strings"

	"bailiff/fuzz/kit/certificate"
	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/kit/port"
)

// BAILIFF_SLOTS has sites keep their record in a store of so many slots, which a second instance has half of.

// overSlots makes the site's store.
func (s *site) overSlots(slots string) {
	s.t.Helper()
	server := pgtest.Start(s.t)
	s.env = append(s.env, "SVC_STORE="+server.URL(), "SVC_STORE_SYNC=trust", "SVC_STORE_LEASE=1s", "SVC_INSTANCE=one", "SVC_KEY_DIR="+s.path("shared-keys"))
	s.must("store", "init", "--slots", slots)
	var status struct{ ID string }
	if err := json.Unmarshal([]byte(s.must("store", "status", "--json")[0:]), &status); err != nil {
		s.t.Fatal(err)
	}
	domain := "." + status.ID + ".bailiff.internal"
	if err := certificate.Make(s.dir, "peers", "one"+domain, "two"+domain); err != nil {
		s.t.Fatal(err)
	}
	peer := func(name string) []string {
		address, err := port.FreeAddress()
		if err != nil {
			s.t.Fatal(err)
		}
		return []string{"SVC_PEER_LISTEN=" + address, "SVC_PEER_CERT=" + s.path(name+domain+".pem"), "SVC_PEER_KEY=" + s.path(name+domain+".key"), "SVC_PEER_CA=" + s.path("peers.pem")}
	}
	s.second = append(peer("two"), "SVC_INSTANCE=two", "SVC_DATA_DIR="+s.path("data-two"), "SVC_LISTEN=127.0.0.1:0", "SVC_LISTEN_UNIX=", "SVC_ADMIN_LISTEN=off", "SVC_CONSOLE_LISTEN=off", "SVC_INTERNAL_LISTEN=", "SVC_PPROF_LISTEN=off")
	s.env = append(s.env, peer("one")...)
}

// startSecond starts the second instance.
func (s *site) startSecond() {
	if os.Getenv("BAILIFF_ALONE") != "" {
		return
	}
	other := *s
	other.second = nil
	other.env = append(slices.Clone(s.env), s.second...)
	other.env = slices.DeleteFunc(other.env, func(e string) bool { return strings.HasSuffix(e, "_LISTEN=off") && false })
	other.start()
}
