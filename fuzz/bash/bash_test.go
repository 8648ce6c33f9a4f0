package bash

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/kit/seed"
)

func TestMain(m *testing.M) {
	Serve()
	os.Exit(m.Run())
}

// sandbox starts a sandbox for the test, or skips the test where there is no bash. Continuous integration has one.
func sandbox(t testing.TB) *Sandbox {
	t.Helper()
	s, err := NewSandbox()
	switch {
	case errors.Is(err, ErrNoBash) && os.Getenv("CI") != "true":
		t.Skipf("commands are not compared with a real bash: %v", err)
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func judge(t testing.TB) *Judge {
	t.Helper()
	j, err := NewJudge(Policy)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestSeeds holds that no seed is accepted, and that bash runs the blocked program for each one. The second half is
// the canary of the sandbox: without it a sandbox in which nothing runs would find nothing.
func TestSeeds(t *testing.T) {
	j, s := judge(t), sandbox(t)
	for _, seed := range Seeds {
		if j.Accepts(seed) {
			t.Errorf("accepted: %q", seed)
		}
		witness, err := s.Run(seed)
		if err == nil && !witness {
			// What runs beside the command, as in <(…), may end with it before it has begun: the machine is busy.
			witness, err = s.Run(seed + "\nsleep 1")
		}
		if err != nil {
			t.Fatal(err)
		}
		if !witness {
			t.Errorf("leaves no witness: %q", seed)
		}
	}
}

func TestOrdinaryCommandsAreAccepted(t *testing.T) {
	j := judge(t)
	for _, command := range Ordinary {
		if !j.Accepts(command) {
			t.Errorf("denied: %q", command)
		}
	}
}

// count and duration bound TestHunt: whichever comes first ends it.
var (
	count    = flag.Int("commands", 6_000, "how many accepted commands to run (0: no limit)")
	duration = flag.Duration("for", 90*time.Second, "how long to run commands")
)

// usualSeed is the seed of a hunt that is bounded by a number of commands: then a failure is about what has changed. Hunts
// without that bound (make bash, make nightly) draw a seed each time, and look for new faults.
const usualSeed = 1795365781895014349

// TestHunt holds that no accepted command runs a blocked program.
func TestHunt(t *testing.T) {
	if *count > 0 && os.Getenv(seed.Variable) == "" {
		t.Setenv(seed.Variable, strconv.Itoa(usualSeed))
	}
	g, j, s := NewGenerator(seed.Value(t)), judge(t), sandbox(t)
	found, tally, err := Hunt(g, j.Accepts, s, time.Now().Add(*duration), *count)
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range found {
		t.Errorf("accepted, and runs a blocked program: %q", each.Command)
	}
	t.Logf("%d generated; %d accepted and run, %d witnesses; %d denied and run, %d witnesses",
		tally.Generated, tally.Accepted, len(found), tally.Denied, tally.Effective)
	if tally.Accepted < min(*count, 100) || tally.Effective == 0 {
		t.Error("too few commands are accepted, or too few work, to mean anything")
	}
}

// listJudge returns a judge of the list of allowed commands.
func listJudge(t testing.TB) *Judge {
	t.Helper()
	j, err := NewJudge(ListPolicy)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestListSeeds holds that no seed passes a list that does not have what it runs, and that what the list has does.
func TestListSeeds(t *testing.T) {
	j := listJudge(t)
	for _, seed := range append([]string{"rm x", "echo $(mark)", "true; mark", "X=1 echo", "mark W"}, Seeds...) {
		if j.Accepts(seed) {
			t.Errorf("accepted: %q", seed)
		}
	}
	for _, command := range []string{"echo $X", "true && cat <f | cat", "if test -f x; then echo \"$(ls)\"; fi", "cat <<E\n$(echo x)\nE", "find . -name x >/dev/null 2>&1"} {
		if !j.Accepts(command) {
			t.Errorf("denied: %q", command)
		}
	}
}

// TestListHunt holds that no command which passes a list of allowed ones starts a program that is not on it.
func TestListHunt(t *testing.T) {
	if os.Getenv(seed.Variable) == "" {
		t.Setenv(seed.Variable, strconv.Itoa(usualSeed))
	}
	g, j, s := NewGenerator(seed.Value(t)), listJudge(t), sandbox(t)
	found, tally, err := Hunt(g, j.Accepts, s, time.Now().Add(*duration/6), *count/4)
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range found {
		t.Errorf("allowed, and runs a program that is not listed: %q", each.Command)
	}
	t.Logf("%d generated; %d accepted and run, %d witnesses; %d denied and run, %d witnesses",
		tally.Generated, tally.Accepted, len(found), tally.Denied, tally.Effective)
	if tally.Accepted < 100 || tally.Effective == 0 {
		t.Error("too few commands are accepted, or too few work, to mean anything")
	}
}

// TestListHuntNotices plants faults in what accepts commands by a list, each of which the hunt has to find by a witness.
func TestListHuntNotices(t *testing.T) {
	j, s := listJudge(t), sandbox(t)
	for _, fault := range []struct {
		name    string
		accepts func(string) bool
	}{
		{"substitutions are not listed", func(text string) bool { return j.Accepts(strings.NewReplacer("$X", "x", "`", "'").Replace(text)) }},
		{"runners are listed by their names", func(text string) bool {
			return j.Accepts(strings.NewReplacer("env ", "echo ", "nice ", "echo ", "bash -c ", "echo ", "eval ", "echo ", "xargs ", "echo ").Replace(text))
		}},
	} {
		found, tally, err := Hunt(NewGenerator(seed.Value(t)), fault.accepts, s, time.Now().Add(30*time.Second), 150)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			t.Errorf("%s: no witness in %d commands", fault.name, tally.Accepted)
		}
	}
}

// TestHuntNotices plants faults in what accepts commands, each of which the hunt has to find by a witness.
func TestHuntNotices(t *testing.T) {
	j, s := judge(t), sandbox(t)
	for _, fault := range []struct {
		name    string
		accepts func(string) bool
	}{
		{"quotes stay where they are", func(text string) bool {
			return !strings.Contains(text, "mark") && !strings.Contains(text, "rm -rf")
		}},
		{"eval is not known", func(text string) bool { return j.Accepts(strings.ReplaceAll(text, "eval", "echo")) }},
		{"arithmetic is a text", func(text string) bool {
			return j.Accepts(strings.NewReplacer("a[$(", "a{$(", "-v", "-z", "((a))", "", "-eq", "==").Replace(strings.ReplaceAll(text, "$(", "(")))
		}},
		{"shells read nothing", func(text string) bool {
			return j.Accepts(strings.NewReplacer("bash", "echo", "sh", "echo").Replace(text))
		}},
		{"comments go on", func(text string) bool {
			before, _, cut := strings.Cut(text, "# \\\n")
			return cut && j.Accepts(before)
		}},
	} {
		found, tally, err := Hunt(NewGenerator(seed.Value(t)), fault.accepts, s, time.Now().Add(time.Minute), 150)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			t.Errorf("%s: no witness in %d commands", fault.name, tally.Accepted)
			continue
		}
		t.Logf("%s: %d witnesses in %d commands, as after %q", fault.name, len(found), tally.Accepted, found[0].Command)
	}
}

// TestSandbox holds that a command reaches neither the network nor files outside of its folder, and ends in time.
func TestSandbox(t *testing.T) {
	s := sandbox(t)
	if witness, err := s.Run("mark"); err != nil || !witness {
		t.Fatalf("the witness is not left: %v, %v", witness, err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	for _, command := range []string{"echo x >" + outside + " && mark", "echo x >/etc/bailiff-outside && mark", "while :; do :; done; mark", "exec 3<>/dev/tcp/127.0.0.1/9 && mark", "(trap '' HUP TERM; while :; do :; done) & mark & wait"} {
		start := time.Now()
		witness, err := s.Run(command)
		if err != nil || witness && !strings.HasSuffix(command, "wait") {
			t.Errorf("%q: %v, %v", command, witness, err)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%q took %v", command, took)
		}
	}
	if witness, err := s.Run(":"); err != nil || witness {
		t.Errorf("a witness is left from the command before: %v", err)
	}
}
