package conform_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"slices"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/conform"
	"bailiff/fuzz/conform/falsify"
	"bailiff/fuzz/kit/seed"
)

// TestStopped ends runs before they have their cases: what ran is reported, and it is not conformance, nor a divergence.
func TestStopped(t *testing.T) {
	w := serveHere(t)
	all := []conform.Level{conform.Core, conform.Limits, conform.Holds, conform.Attestation}
	for _, one := range []struct {
		name   string
		levels []conform.Level
		change func(*conform.Config, context.CancelFunc)
		want   string
	}{
		{"interrupted", all, func(c *conform.Config, end context.CancelFunc) {
			c.Progress = func(cases int) {
				if cases > 100 {
					end()
				}
			}
		}, "it was interrupted"},
		{"interrupted while it verifies", []conform.Level{conform.Attestation}, func(_ *conform.Config, end context.CancelFunc) {
			time.AfterFunc(50*time.Millisecond, end)
		}, "it was interrupted"},
		{"keys used up", all, func(c *conform.Config, _ context.CancelFunc) {
			c.Keys = conform.GivenKeys(nil, nil)
			c.Levels = c.Levels[1:]
		}, "there are no further API keys"},
		{"a level without cases", all, func(c *conform.Config, _ context.CancelFunc) { c.Cases, c.Workers = 40, 1 }, "no case of Holds was run: the other levels had all cases; ask for more"},
	} {
		t.Run(one.name, func(t *testing.T) {
			config := w.config(seed.Value(t), 1_000_000, one.levels...)
			ctx, end := context.WithCancel(context.Background())
			defer end()
			one.change(&config, end)
			report, err := conform.Run(ctx, config)
			must(t, err)
			missing := strings.Join(report.Missing(), "\n")
			if report.Conforms() || len(report.Divergences) > 0 || !strings.Contains(missing, one.want) {
				t.Errorf("the report has %d divergences and misses %q, expected %q", len(report.Divergences), missing, one.want)
			}
			var b bytes.Buffer
			must(t, report.JUnit(&b))
			if !strings.Contains(text(t, report), "not finished: ") || !strings.Contains(b.String(), `errors="1"`) {
				t.Errorf("the reports do not say it:\n%s%s", text(t, report), &b)
			}
		})
	}
}

// TestUnknownKit runs the kit with keys that the service does not know, which is not a divergence.
func TestUnknownKit(t *testing.T) {
	w := serveHere(t)
	for _, one := range []struct {
		change func(*conform.Config)
		want   string
	}{
		{func(c *conform.Config) { c.Operator = newKey(t) }, "--operator-key"},
		{func(c *conform.Config) { c.Shim = conform.NewShim(newKey(t)) }, "--shim-key"},
		{func(c *conform.Config) { c.URL = "http://" + freePort(t) }, "no answer"},
	} {
		config := w.config(seed.Value(t), 10_000, conform.Core)
		one.change(&config)
		report, err := conform.Run(context.Background(), config)
		if err == nil || strings.Count(err.Error(), one.want) == 0 || strings.Contains(err.Error(), "\n") || len(report.Divergences) > 0 || report.Conforms() {
			t.Errorf("the run ends with %v, expected one problem about %q", err, one.want)
		}
	}
}

// TestReasons holds that JUnit's form has the reasons for which cases were not run, beside those that were.
func TestReasons(t *testing.T) {
	w := serveHere(t)
	config := w.config(1, 300, conform.Core, conform.Core) // a seed whose first policies have profiles: of ten others, one may have none
	config.Shim = nil
	report, err := conform.Run(context.Background(), config)
	must(t, err)
	var b bytes.Buffer
	must(t, report.JUnit(&b))
	var suite struct {
		Skipped int `xml:"skipped,attr"`
		Cases   []struct {
			Class   string `xml:"classname,attr"`
			Skipped *struct {
				Message string `xml:"message,attr"`
			} `xml:"skipped"`
		} `xml:"testcase"`
	}
	must(t, xml.Unmarshal(b.Bytes(), &suite))
	var said []string
	for _, c := range suite.Cases {
		if c.Skipped != nil {
			said = append(said, c.Skipped.Message)
		}
	}
	if len(report.Levels) != 1 || report.Levels[0].Cases == 0 || suite.Skipped != len(said) || !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "there is no trusted shim to consent") }) {
		t.Errorf("JUnit's form leaves out why cases were not run: %q\n%s", said, &b)
	}
}

// TestTrials tries a fault that is found, one that is missed, and one that the end of the run leaves out.
func TestTrials(t *testing.T) {
	w := serveHere(t)
	named := falsify.Named()
	rollback := named[slices.IndexFunc(named, func(m falsify.Mutant) bool { return m.Name == "rollback" })]
	ctx, end := context.WithCancel(context.Background())
	defer end()
	faults := []conform.Fault{
		{Name: "found", What: rollback.What, Front: falsify.Front(rollback)},
		{Name: "missed", What: "nothing is changed", Front: falsify.Front(falsify.Mutant{Name: "none"})},
		{Name: "left", What: "the run ends before", Front: func(string) (string, func(), error) { end(); return w.url, func() {}, nil }},
		{Name: "last", What: "nothing is begun"},
	}
	trials, err := conform.Try(ctx, w.config(seed.Value(t), 100, conform.Core), faults)
	must(t, err)
	if got := trials.Trials; len(got) != 4 || !got[0].Found || got[0].By == "" || got[1].Found || got[1].Stopped != "" || got[2].Stopped == "" || got[3].Stopped == "" || !trials.Missed() || len(trials.Missing()) != 2 {
		t.Fatalf("%+v", got)
	}
	for form, wants := range map[string][]string{
		"text":  {"found  found: ", "MISSED missed: ", "ended  left: ", "not finished: 2 mutants", "1 of 4 mutants found"},
		"json":  {`"mutant": "missed"`, `"found": true`, `"stopped": "it was interrupted"`},
		"junit": {`tests="4" failures="1" errors="2"`, "not found in "},
	} {
		var b bytes.Buffer
		must(t, map[string]func() error{"text": func() error { return trials.Text(&b) }, "json": func() error { return trials.JSON(&b) }, "junit": func() error { return trials.JUnit(&b) }}[form]())
		for _, want := range wants {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s lacks %q:\n%s", form, want, &b)
			}
		}
	}
}
