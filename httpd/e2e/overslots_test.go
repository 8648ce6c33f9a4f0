package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/kit/certificate"
	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/kit/port"
)

// slotsSetting is the variable that has sites keep their record in a store of so many slots, of which a second instance has half.
const slotsSetting = "BAILIFF_SLOTS"

// overSlots are tests of what clients and operators do that hold over several slots, too. The others look at a data folder, at the memory of
// one instance, at what a store of several slots refuses, or start one instance again with other settings.
var overSlots = []string{
	"TestKillEverything", "TestOneHold", "TestFirstDeployments", "TestHostedStory", "TestWebhooks", "TestRegisterLimit",
	"TestStopUnderLoad", "TestEvents", "TestTelemetry", "TestOneWrite",
}

// moreOverSlots are further ones, which take longer.
var moreOverSlots = []string{
	"TestBorders", "TestLimitWithManyClients", "TestQuotaOfKeys", "TestEveryDecisionCode", "TestRequestFields", "TestReplayAfterCrash", "TestActivations",
	"TestQuota", "TestHoldLimit", "TestKeyLimit", "TestScopes", "TestWebhookTrouble", "TestTestEnvironment",
	"TestTLS", "TestGoClient", "TestNodeVerifiesTheService", "TestSmuggling", "TestBodies", "TestEnumeration", "TestRestart",
}

// TestOverSlots runs tests over a store of several slots, by way of an instance that has half of them, or of both where many clients ask at once.
// BAILIFF_OVER_SLOTS=all runs all that hold there.
func TestOverSlots(t *testing.T) {
	names, environ := overSlots, append(os.Environ(), slotsSetting+"=4")
	if os.Getenv("BAILIFF_OVER_SLOTS") == "all" {
		names = slices.Concat(overSlots, moreOverSlots)
	} else {
		environ = append(environ, "BAILIFF_ROUNDS=20")
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(own, "-test.v", "-test.run=^("+strings.Join(names, "|")+")$")
	command.Env = environ
	said, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	for _, name := range names {
		if !strings.Contains(string(said), "--- PASS: "+name+" ") {
			t.Errorf("%s did not pass", name)
		}
	}
}

// mayHaveSlots has the site keep its record in a store of several slots where the tests run over such.
func (s *site) mayHaveSlots() {
	if slots := os.Getenv(slotsSetting); slots != "" {
		s.storeOf(slots)
	}
}

// storeOf makes a store of several slots for the site, and returns its database.
func (s *site) storeOf(slots string) (server *pgtest.Server) {
	s.t.Helper()
	server = pgtest.Start(s.t)
	settings := s.env
	s.env = append(s.env, "SVC_STORE="+server.URL(), "SVC_STORE_SYNC=trust", "SVC_STORE_LEASE=1s", "SVC_INSTANCE=one", "SVC_KEY_DIR="+s.path("shared-keys"))
	s.must("store", "init", "--slots", slots)
	var status struct{ ID string }
	text, said, _ := s.run("store", "status", "--json") // none decides yet
	if err := json.Unmarshal([]byte(text), &status); err != nil {
		s.t.Fatalf("%v: %s", err, said)
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
	s.env = append(s.env, peer("one")...)
	s.second = append(peer("two"), "SVC_INSTANCE=two", "SVC_DATA_DIR="+s.path("data-two-"+slots), "SVC_LISTEN=127.0.0.1:0", "SVC_LISTEN_UNIX=")
	for _, name := range []string{"SVC_ADMIN_LISTEN", "SVC_CONSOLE_LISTEN", "SVC_INTERNAL_LISTEN", "SVC_PPROF_LISTEN"} {
		if slices.ContainsFunc(settings, func(one string) bool { return strings.HasPrefix(one, name+"=") }) {
			s.second = append(s.second, name+"=off")
		}
	}
	return server
}

// instances are the service, and the second instance where there is one.
func (r *running) instances() []*running {
	if r.site.partner == nil {
		return []*running{r}
	}
	return []*running{r, r.site.partner}
}

// startSecond starts the second instance, once, and reports whether it did.
func (s *site) startSecond() bool {
	if s.partner != nil {
		return false
	}
	other := *s
	other.second, other.env = nil, append(slices.Clone(s.env), s.second...)
	s.partner = other.start()
	return true
}

// awaitShares waits until each of the two instances has its share, so that no slot moves because they have just come.
func (s *site) awaitShares() {
	s.t.Helper()
	for range 200 {
		var status struct{ Slots []struct{ Owner string } }
		text, said, _ := s.run("store", "status", "--json")
		if err := json.Unmarshal([]byte(text), &status); err != nil {
			s.t.Fatalf("%v: %s", err, said)
		}
		has := map[string]int{}
		for _, slot := range status.Slots {
			has[slot.Owner]++
		}
		if most := (len(status.Slots) + 1) / 2; has["one"] >= most-1 && has["two"] >= most-1 && has[""] == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatal("the instances do not share the slots")
}

// TestPeersOfOtherAuthority: two instances that do not trust each other's certificates say so, go on with their own slots, and stay ready: neither
// knows whose fault it is.
func TestPeersOfOtherAuthority(t *testing.T) {
	t.Parallel()
	s := newSite(t, mailPolicy)
	s.storeOf("3")
	at := slices.IndexFunc(s.second, func(one string) bool { return strings.HasPrefix(one, "SVC_PEER_CERT=") })
	name := strings.TrimSuffix(filepath.Base(s.second[at]), ".pem")
	other := s.path("other")
	if err := errors.Join(os.Mkdir(other, 0o700), certificate.Make(other, "peers", name)); err != nil {
		t.Fatal(err)
	}
	s.second = append(s.second, "SVC_PEER_CERT="+filepath.Join(other, name+".pem"), "SVC_PEER_KEY="+filepath.Join(other, name+".key"), "SVC_PEER_CA="+filepath.Join(other, "peers.pem"))
	one := s.start()
	two := s.partner
	for _, row := range []struct {
		at    *running
		names string
	}{{one, "two"}, {two, "one"}} {
		const says = "whose certificate is not good"
		var status int
		var body string
		for end := time.Now().Add(time.Minute); !strings.Contains(body, row.names+", "+says) && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			status, _, body = row.at.get("/readyz")
		}
		if status != 200 || !strings.Contains(body, row.names+", "+says) || !strings.Contains(row.at.log.String(), "instances can't be reached that have slots") {
			t.Errorf("an instance does not say that it does not reach %s: %d %s\n%s", row.names, status, body, row.at.log)
		}
	}
}
