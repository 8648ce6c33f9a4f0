package conform

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// A Fault is a way to falsify a service's answers: see package falsify.
type Fault struct {
	Name, What string
	Front      func(url string) (front string, stop func(), err error)
}

// Trials are what came of a run for each of some faults.
type Trials struct {
	URL            string  `json:"url"`
	Implementation string  `json:"implementation"`
	Seed           int64   `json:"seed"`
	Seconds        float64 `json:"seconds"`
	Trials         []Trial `json:"mutants"`
}

// A Trial is what came of one fault.
type Trial struct {
	Name  string `json:"mutant"`
	What  string `json:"what"` // the fault, in a sentence
	Found bool   `json:"found"`
	Cases int    `json:"cases"`        // that were held to the oracle
	By    string `json:"by,omitempty"` // the part of an answer that differs
	// Stopped says why the search ended before it had its cases, or was not begun; empty where the fault is found, or missed.
	Stopped string `json:"stopped,omitempty"`

	seconds float64
}

// Try runs the kit for each fault, with seeds that do not meet. When the context ends, the trials that are left are in the result as
// stopped. The error is about what kept the kit from testing, and comes with the trials until then.
func Try(ctx context.Context, config Config, faults []Fault) (*Trials, error) {
	t := &Trials{URL: config.URL, Seed: config.Seed, Trials: []Trial{}}
	first, progress := config.Seed, config.Progress
	config.NoShrink = true
	done := 0
	if progress != nil {
		config.Progress = func(cases int) { progress(done + cases) }
	}
	for i, fault := range faults {
		trial := Trial{Name: fault.Name, What: fault.What}
		if ctx.Err() != nil {
			trial.Stopped = whyEnded(ctx)
			t.Trials = append(t.Trials, trial)
			continue
		}
		config.Seed, config.Front = first+int64(i*config.Cases), fault.Front
		report, err := Run(ctx, config)
		if err != nil {
			return t, err
		}
		t.Implementation = report.Implementation
		t.Seconds += report.Seconds
		trial.Found, trial.Cases, trial.Stopped, trial.seconds = report.diverged(), report.Cases, report.Stopped, report.Seconds
		if trial.Found {
			trial.By = report.Divergences[0].What
		}
		t.Trials = append(t.Trials, trial)
		done += report.Cases
	}
	return t, nil
}

// count returns how many trials have a property.
func (t *Trials) count(has func(*Trial) bool) (n int) {
	for i := range t.Trials {
		if has(&t.Trials[i]) {
			n++
		}
	}
	return n
}

// missed reports whether the fault was searched for to the end, and not found.
func (t *Trial) missed() bool { return !t.Found && t.Stopped == "" }

// stopped reports whether the search ended before.
func (t *Trial) stopped() bool { return t.Stopped != "" }

// Missed reports whether a fault was searched for to the end, and not found.
func (t *Trials) Missed() bool { return t.count((*Trial).missed) > 0 }

// Ran reports whether any fault was searched for.
func (t *Trials) Ran() bool { return len(t.Trials) > 0 }

// Missing says what was asked for and not run.
func (t *Trials) Missing() (all []string) {
	for i := range t.Trials {
		if one := &t.Trials[i]; one.stopped() {
			all = append(all, fmt.Sprintf("%s was searched for in %d cases: %s", one.Name, one.Cases, one.Stopped))
		}
	}
	return all
}

// Text writes the trials for people.
func (t *Trials) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", strings.TrimSpace(t.URL+" "+t.Implementation))
	for i := range t.Trials {
		switch one := &t.Trials[i]; {
		case one.Found:
			fmt.Fprintf(&b, "found  %s: %s (after %d cases: %s)\n", one.Name, one.What, one.Cases, one.By)
		case one.stopped():
			fmt.Fprintf(&b, "ended  %s: %s (after %d cases: %s)\n", one.Name, one.What, one.Cases, one.Stopped)
		default:
			fmt.Fprintf(&b, "MISSED %s: %s (%d cases)\n", one.Name, one.What, one.Cases)
		}
	}
	if n := t.count((*Trial).stopped); n > 0 {
		fmt.Fprintf(&b, "not finished: %d mutants were not searched for to the end\n", n)
	}
	fmt.Fprintf(&b, "%d of %d mutants found; --seed %d\n", t.count(func(one *Trial) bool { return one.Found }), len(t.Trials), t.Seed)
	_, err := io.WriteString(w, b.String())
	return err
}

// JSON writes the trials as JSON.
func (t *Trials) JSON(w io.Writer) error { return writeJSON(w, t) }

// JUnit writes the trials in the form of JUnit: a test case for each fault, which fails where the fault was missed.
func (t *Trials) JUnit(w io.Writer) error {
	suite := junitSuite{Name: "bailiff conform --against-mutant " + t.URL, Time: seconds(t.Seconds)}
	for _, one := range t.Trials {
		c := junitCase{Name: one.Name + ": " + one.What, Class: "conform.mutants", Time: seconds(one.seconds)}
		switch {
		case one.missed():
			c.Failure = &junitText{Message: fmt.Sprintf("not found in %d cases, seed %d", one.Cases, t.Seed)}
		case one.stopped():
			c.Error = &junitText{Message: fmt.Sprintf("not finished after %d cases: %s", one.Cases, one.Stopped)}
		}
		suite.add(c)
	}
	return suite.write(w)
}

// writeJSON writes a value as people read JSON.
func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
