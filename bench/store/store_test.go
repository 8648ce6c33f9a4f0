package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bailiff/bench/player"
	"bailiff/fuzz/kit/testbin"
)

// binary is the built service.
var binary string

func TestMain(m *testing.M) {
	code := func() int {
		folder, err := os.MkdirTemp("", "bailiff-bench-test-")
		if err == nil {
			defer os.RemoveAll(folder)
			binary = filepath.Join(folder, "bailiff")
			err = testbin.Command(binary)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}()
	os.Exit(code)
}

// TestRun goes through a whole run, too short to tell anything about speed.
func TestRun(t *testing.T) {
	o := shortRun(t)
	var out bytes.Buffer
	if err := run(t.Context(), t, o, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, says := range []string{
		"denied, 4 clients", "ratio of rates", "ratio of p50", "allowed, processor time", "256 clients", "falls with load", "transaction 2:", "all the time", "The standby has the records of all",
	} {
		if !strings.Contains(out.String(), says) {
			t.Errorf("it does not say %q:\n%s", says, &out)
		}
	}
	nothingLeft(t, o)
}

// TestRunFails is a canary: under a policy that denies everything there are no figures.
func TestRunFails(t *testing.T) {
	o := shortRun(t)
	o.policy = filepath.Join(o.dir, "strict.md")
	strict := "version: 2.0.0\n\n## evm\nallowed_chains: 8453\nallowed_actions: wallet.transfer\nmax_transaction_eth: 0.001\n"
	if err := os.WriteFile(o.policy, []byte(strict), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), t, o, &out); err == nil || !strings.Contains(err.Error(), "expected status 200") {
		t.Errorf("the run ended with %v\n%s", err, &out)
	}
	nothingLeft(t, o)
}

// overDatabase starts a service over a database of its own, which ends with the test.
func overDatabase(t *testing.T, o *options) *site {
	t.Helper()
	p := &players{t: t, options: o, folder: o.dir}
	s, err := p.withDatabase(t.Context(), "PostgreSQL")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestDatabase is the canary of what a run looks up in the database: records that are missing, and a transaction that was ended.
func TestDatabase(t *testing.T) {
	o := shortRun(t)
	s := overDatabase(t, o)
	had, err := s.records(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := s.databaseTime()
	target, err := s.ask(denied, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	one, err := target.Measure(2, 0, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if one.Beside <= 0 || s.databaseTime() <= before {
		t.Errorf("the database takes no time: %+v", one)
	}
	given := answers(target)
	if err := s.durable(t.Context(), had, given, time.Minute); err != nil {
		t.Error(err)
	}
	// The service may have written a few records of its own meanwhile.
	if err := s.durable(t.Context(), had, given+1000, time.Millisecond); err == nil || !strings.Contains(err.Error(), "the standby has") {
		t.Errorf("a record that is missing: %v", err)
	}
	for _, ended := range []bool{false, true} {
		x, err := s.begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if ended {
			if _, err := x.connection.Exec(t.Context(), "COMMIT"); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.end(t.Context()); ended != (err != nil && strings.Contains(err.Error(), "not open to the end")) {
			t.Errorf("a transaction that was ended (%t): %v", ended, err)
		}
	}
}

// TestSlotsBeside goes through a run of the service over several slots beside one with a data folder and as many keys.
func TestSlotsBeside(t *testing.T) {
	o := shortRun(t)
	o.parts, o.slots, o.clients, o.rounds = "rates", 4, 16, 1
	var out bytes.Buffer
	if err := run(t.Context(), t, o, &out); err != nil || !strings.Contains(out.String(), "stores of 4 slots") || !strings.Contains(out.String(), "allowed, 16 clients") {
		t.Fatalf("%v\n%s", err, &out)
	}
	nothingLeft(t, o)
}

// TestKeysOfSlots finds decisions divided over slots, and all of them in one where clients have one key.
func TestKeysOfSlots(t *testing.T) {
	o := shortRun(t)
	o.slots = 4
	s := overDatabase(t, o)
	connection, err := pgx.Connect(t.Context(), s.primary.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close(t.Context())
	all := s.keys
	for _, row := range []struct {
		keys  []string
		inOne bool
	}{{all, false}, {all[:1], true}} {
		s.keys = row.keys
		if _, err := connection.Exec(t.Context(), "CREATE TEMPORARY TABLE had AS SELECT slot, max(last) AS last FROM bailiff.groups GROUP BY slot"); err != nil {
			t.Fatal(err)
		}
		clients := 2 * len(all)
		target, err := s.ask(denied, clients) // connecting asks once
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		var most int // decisions in one slot
		err = connection.QueryRow(t.Context(), "SELECT max(groups.last - had.last) FROM bailiff.groups JOIN had USING (slot)").Scan(&most)
		if err != nil || (most >= clients) != row.inOne {
			t.Errorf("of %d decisions with %d keys %d are in one slot: %v", clients, len(row.keys), most, err)
		}
		if _, err := connection.Exec(t.Context(), "DROP TABLE had"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAlone checks the substitute for a test: it fails, and ends what was started, in any case.
func TestAlone(t *testing.T) {
	own := errors.New("its own")
	for name, does := range map[string]func(testing.TB) error{
		"a failure":   func(t testing.TB) error { t.Fatalf("it has %s", "failed"); return nil },
		"a skip":      func(t testing.TB) error { t.Skipf("it has %s", "failed"); return nil },
		"an error":    func(testing.TB) error { return own },
		"no failures": func(testing.TB) error { return nil },
	} {
		ended := 0
		err := alone(func(t testing.TB) error {
			t.Cleanup(func() { ended++ })
			return does(t)
		})
		switch name {
		case "an error":
			if !errors.Is(err, own) {
				t.Errorf("%s: %v", name, err)
			}
		case "no failures":
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		default:
			if err == nil || err.Error() != "it has failed" {
				t.Errorf("%s: %v", name, err)
			}
		}
		if ended != 1 {
			t.Errorf("%s: what was started was ended %d times", name, ended)
		}
	}
}

// window is a sample of a rate.
func window(rate float64) player.Sample {
	return player.Sample{Rate: rate, P50: time.Millisecond, CPU: 20 * time.Microsecond, Beside: 10 * time.Microsecond}
}

// TestVerdicts plants figures that miss each target, beside those that meet it.
func TestVerdicts(t *testing.T) {
	rates := func(q question, ratio float64) string {
		var out bytes.Buffer
		var pairs []pair
		for _, machine := range []float64{1, 0.3, 2} { // its speed drifts
			pairs = append(pairs, pair{here: window(10_000 * machine * ratio), beside: window(10_000 * machine)})
		}
		printRates(&out, q, 64, pairs)
		return out.String()
	}
	for _, row := range []struct {
		q     question
		ratio float64
		says  string
	}{
		{denied, 0.5, "0.50 (0.50 – 0.50), target 0.5 or more: met"},
		{denied, 0.49, "0.49 (0.49 – 0.49), target 0.5 or more: MISSED"},
		{allowed, 0.81, "target 0.8 or more: met"},
		{allowed, 0.79, "target 0.8 or more: MISSED"},
	} {
		if said := rates(row.q, row.ratio); !strings.Contains(said, row.says) {
			t.Errorf("%q is not in:\n%s", row.says, said)
		}
	}
	for _, row := range []struct {
		micros []int
		says   string
	}{{[]int{400, 100, 20, 5}, "load: met"}, {[]int{400, 100, 20, 20}, "load: MISSED"}, {[]int{100, 400, 20, 5}, "load: MISSED"}} {
		var out bytes.Buffer
		samples := map[int][]player.Sample{}
		for i, clients := range loads {
			samples[clients] = []player.Sample{{Beside: time.Duration(row.micros[i]) * time.Microsecond}}
		}
		if printProcessor(&out, denied, samples); !strings.Contains(out.String(), row.says) {
			t.Errorf("of %v %q is not in:\n%s", row.micros, row.says, &out)
		}
	}
}

// TestOpenTransaction plants costs: between databases of which one is slower, and at the end alone.
func TestOpenTransaction(t *testing.T) {
	o := &options{open: time.Minute, clients: 64}
	pairs := func(ratio func(age time.Duration) float64) (list []pair) {
		for age := time.Duration(0); age < o.open; age += time.Second {
			list = append(list, pair{here: window(1000 * ratio(age)), beside: window(1000), age: age})
		}
		return list
	}
	same := func(ratio float64) func(time.Duration) float64 {
		return func(time.Duration) float64 { return ratio }
	}
	late := func(age time.Duration) float64 {
		if age >= 45*time.Second {
			return 0.8
		}
		return 1
	}
	for _, row := range []struct {
		what   string
		cycles []cycle
		says   string
	}{
		{"nothing", []cycle{{pairs(same(1)), pairs(same(1))}}, "0.0 %, target below 10 %, also at its end: met"},
		{"unlike databases", []cycle{{pairs(same(0.5)), pairs(same(0.5))}, {pairs(same(2)), pairs(same(2))}}, "0.0 %, target below 10 %, also at its end: met"},
		{"a fifth", []cycle{{pairs(same(0.5)), pairs(same(0.4))}, {pairs(same(2)), pairs(same(1.6))}}, "20.0 %, target below 10 %, also at its end: MISSED"},
		{"a fifth at the end", []cycle{{pairs(same(1)), pairs(late)}}, "0.0 %, target below 10 %, also at its end: MISSED"},
		{"no figures", []cycle{{pairs(same(1)), nil}}, "NaN %, target below 10 %, also at its end: MISSED"},
	} {
		var out bytes.Buffer
		if printOpen(&out, o, row.cycles); !strings.Contains(out.String(), row.says) {
			t.Errorf("%s: %q is not in:\n%s", row.what, row.says, &out)
		}
	}
}

func shortRun(t *testing.T) *options {
	t.Helper()
	testbin.Track(t)
	return &options{
		service: binary, policy: "../../cmd/bailiff/policy/example/warranty.md", dir: t.TempDir(), parts: "rates,processor,open",
		slots: 1, clients: 4, rounds: 2, window: 50 * time.Millisecond, open: time.Second, around: 200 * time.Millisecond, cycles: 2,
	}
}

func nothingLeft(t *testing.T, o *options) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(o.dir, "bailiff-bench-*")); len(left) > 0 {
		t.Errorf("%v was left behind", left)
	}
}
