package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"bailiff/fuzz/kit/testbin"
)

// builtWith builds the command under a name, beside the one that tests run, with another text of one of its files.
func builtWith(name, file string, edit func(text string) string) (command string, err error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return "", err
	}
	file = filepath.Join(root, file)
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	edited := edit(string(text))
	if edited == string(text) {
		return "", fmt.Errorf("%s is not as it was", file)
	}
	command = filepath.Join(filepath.Dir(binary), name)
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {file: command + ".go"}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(command+".go", []byte(edited), 0o600), os.WriteFile(command+".json", overlay, 0o600)); err != nil {
		return "", err
	}
	return command, testbin.Command(command, "-overlay", command+".json")
}

// built returns the command that a function builds.
func built(t *testing.T, build func() (string, error)) (command string) {
	t.Helper()
	command, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return command
}

// clockSetting is the variable that names a file with how far the clock is off, of a command that withClock has built.
const clockSetting = "BAILIFF_TEST_CLOCK"

// withClock builds the command with a clock that can be set.
var withClock = sync.OnceValues(func() (command string, err error) {
	return builtWith("clock", "runtime/clock/clock.go", func(text string) string {
		text = strings.Replace(text, "return now.Round(0), now.Sub(start)", "return now.Add(time.Duration(off.Load())).Round(0), now.Sub(start)", 1)
		return strings.Replace(text, "import (\n", "import (\n\t\"os\"\n", 1) + `
var off atomic.Int64

func init() {
	read := func() {
		text, _ := os.ReadFile(os.Getenv("` + clockSetting + `"))
		d, _ := time.ParseDuration(string(text))
		off.Store(int64(d))
	}
	read()
	go func() {
		for ; ; time.Sleep(time.Millisecond) {
			read()
		}
	}()
}
`
	})
})

// withoutLatest takes the latest forms of records out, as a release before this one had none.
func withoutLatest(text string) string {
	text = regexp.MustCompile(`, copied\(\w+, \w+\)`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`(?s)\tledger\.Store(Divided|Joined): \{.*?\n\t\},\n`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`,\n\t\t\t\{number: 61,[^\n]*,\n`).ReplaceAllString(text, "},\n")
	text = strings.Replace(text, "of.Known() != (len(forms) > 0) || ", "", 1) // it has the name of a kind that it does not know
	before, rest, _ := strings.Cut(text, "\t\t\t{\n\t\t\t\tnumber: 51,")
	_, after, _ := strings.Cut(rest, "\t\t\t},\n")
	return before + after
}

// waitsHere has doctor find that a service which waits has the data folder, and not that somebody else has its addresses.
func (s *site) waitsHere() {
	s.t.Helper()
	const waits = "a service that waits, or starts, has the data folder"
	said := ""
	for late := time.Now().Add(10 * time.Second); !strings.Contains(said, waits) && time.Now().Before(late); time.Sleep(50 * time.Millisecond) {
		said, _, _ = s.run("doctor")
	}
	if !strings.Contains(said, waits) || strings.Contains(said, "address already in use") {
		s.t.Errorf("doctor, of a service that waits: %s", said)
	}
}

// TestMixedReleases updates two instances one after the other. As long as the level of the store is that of the release before, its
// instances and the new ones take over from each other, since no record has more than the old one reads; then the level is raised.
func TestMixedReleases(t *testing.T) {
	t.Parallel()
	s := newSite(t, approvalsPolicy)
	s.release = built(t, func() (string, error) { return builtWith("before", "runtime/ledger/state/kinds.go", withoutLatest) })
	s.overStore()
	key, _ := s.newKey()
	before, now := s.instance("before"), s.instance("now")
	now.release = ""
	starts := func(s *site) *running {
		t.Helper()
		r := s.start()
		r.awaitReady(t, 200)
		return r
	}
	n := 0
	wants := func(r *running, eth, status string) {
		t.Helper()
		n++
		intent := `{"framework":"custom","agentId":"trader-1","chainId":8453,"txCommit":"%064x","intent":{"action":"wallet.transfer","targetAddress":"0x00000000000000000000000000000000000000aa","amount":%q}}`
		if a := r.ask("/v1/authorize", key, fmt.Sprintf(intent, n, eth)); a.Status != status && a.Code != status {
			t.Fatalf("a transfer of %s: %s, want %s", eth, a.Raw, status)
		}
	}
	const small = "0.1" // a hold of more has the amount as it was sent, which is in form 51

	old := starts(before)
	wants(old, small, "ALLOWED")
	wants(old, "0.5", "PENDING")
	waiting := now.start()
	now.waitsHere()
	if err := old.stop(); err != nil {
		t.Fatal(err)
	}
	waiting.awaitReady(t, 200)
	wants(waiting, small, "ALLOWED")
	wants(waiting, "0.6", "PENDING")
	again := before.start()
	now.fails(`do not read records of the level 61: ["before"]`, "store", "level", "61")
	if err := waiting.stop(); err != nil {
		t.Fatal(err)
	}
	again.awaitReady(t, 200) // and reads what the new one has written
	wants(again, small, "ALLOWED")
	if err := again.stop(); err != nil {
		t.Fatal(err)
	}

	t.Log(strings.TrimSpace(now.must("store", "level", "61")))
	latest := starts(now)
	wants(latest, "0.7", "PENDING")
	now.fails("each instance of SVC_STORE needs an SVC_DATA_DIR of its own", "serve")
	before.fails("this release reads records up to 50", "serve")
}

// TestClockOff puts the clock of the instance that decides three minutes ahead: another one decides, and limits go on. An instance that starts
// with such a clock says so.
func TestClockOff(t *testing.T) {
	t.Parallel()
	s := newSite(t, fmt.Sprintf(toolPolicy, 3))
	s.release = built(t, withClock)
	s.overStore()
	key, ask := s.apiKey(), tool("bash", `"command":"ls","task_id":"one"`)
	first, second := s.instance("first"), s.instance("second")
	first.env = append(first.env, clockSetting+"="+s.path("clock"))
	one := first.start()
	one.awaitReady(t, 200)
	two := second.start()
	one.decides(t, "before", key, ask, "ALLOWED")
	s.write("clock", "3m")
	two.awaitReady(t, 200)
	two.decides(t, "another one", key, ask, "ALLOWED")
	if a := one.ask("/v1/authorize", key, ask); a.Status == "ALLOWED" {
		t.Errorf("the instance whose clock is off: %s", a.Raw)
	}
	two.decides(t, "the last of the limit", key, ask, "ALLOWED")
	two.decides(t, "above the limit", key, ask, "DENIED SVC_LOOP_LIMIT_EXCEEDED")
	third := s.instance("third")
	third.env = append(third.env, clockSetting+"="+s.path("clock"))
	third.fails("the clock of this machine and that of the database differ", "serve")
}
