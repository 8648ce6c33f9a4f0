package conform

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// A Report is what came of a run.
type Report struct {
	URL            string         `json:"url"`
	Implementation string         `json:"implementation"`
	Seed           int64          `json:"seed"`
	Wanted         int            `json:"wanted"` // cases that were asked for
	Cases          int            `json:"cases"`  // that were held to the oracle
	Seconds        float64        `json:"seconds"`
	Levels         []LevelReport  `json:"levels"`
	RateLimits     map[string]int `json:"rateLimits"` // that were met and waited for, by name
	Answers        map[string]int `json:"answers"`    // by status and code
	Laws           map[string]int `json:"laws"`       // pairs of requests, by the law that they were held to
	Divergences    []Divergence   `json:"divergences"`
	flags          []string       // for the line that repeats a divergence
	Blocks         []Block        `json:"blocks,omitempty"` // by number
	// Stopped says why the run ended before it had the cases that were asked for; empty where it has them, or diverges.
	Stopped string `json:"stopped,omitempty"`
}

// A LevelReport is what came of a level.
type LevelReport struct {
	Level       Level          `json:"level"`
	Cases       int            `json:"cases"`
	NotRun      map[string]int `json:"notRun"` // by reason
	Divergences int            `json:"divergences"`
}

// A Divergence is an answer that is not as the specification wants it.
type Divergence struct {
	Level    Level  `json:"level"`
	Seed     int64  `json:"seed"` // with which a run meets it first
	What     string `json:"what"` // in which part the answer differs
	Expected string `json:"expected"`
	Got      string `json:"got"`
	Note     string `json:"note,omitempty"`
	Again    string `json:"again"`  // the command that meets it first
	Script   string `json:"script"` // of curl
}

func newReport(c Config) *Report {
	r := &Report{URL: c.URL, Seed: c.Seed, Wanted: c.Cases, RateLimits: map[string]int{}, Answers: map[string]int{}, Laws: map[string]int{}, Divergences: []Divergence{}, flags: c.Flags}
	for _, level := range c.Levels {
		r.Levels = append(r.Levels, LevelReport{Level: level, NotRun: map[string]int{}})
	}
	return r
}

func (r *Report) level(level Level) *LevelReport {
	for i := range r.Levels {
		if r.Levels[i].Level == level {
			return &r.Levels[i]
		}
	}
	r.Levels = append(r.Levels, LevelReport{Level: level, NotRun: map[string]int{}})
	return &r.Levels[len(r.Levels)-1]
}

func (r *Report) diverged() bool { return len(r.Divergences) > 0 }

// Conforms reports whether every level has cases, as many as were asked for were run, and nothing diverged.
func (r *Report) Conforms() bool { return !r.diverged() && len(r.Missing()) == 0 }

// Ran reports whether any case was run.
func (r *Report) Ran() bool { return r.Cases > 0 }

// Missing says what was asked for and not run: cases, because the run has ended before, or levels without any.
func (r *Report) Missing() (all []string) {
	if r.Stopped != "" {
		return []string{fmt.Sprintf("%d cases were run, and %d asked for: %s", r.Cases, r.Wanted, r.Stopped)}
	}
	for i := range r.Levels {
		if l := &r.Levels[i]; l.Cases == 0 {
			all = append(all, fmt.Sprintf("no case of %s was run: %s", l.Level, l.whyNot()))
		}
	}
	return all
}

// whyNot says why a level has no case.
func (l *LevelReport) whyNot() string {
	if reasons := l.reasons(); len(reasons) > 0 {
		return strings.Join(reasons, "; ")
	}
	return "the other levels had all cases; ask for more"
}

// reasons are those for which cases were not run, with their number.
func (l *LevelReport) reasons() (all []string) {
	for _, reason := range slices.Sorted(maps.Keys(l.NotRun)) {
		all = append(all, fmt.Sprintf("%d not run: %s", l.NotRun[reason], reason))
	}
	return all
}

func (r *Report) add(level Level, seed int64, f *finding, note, script string) {
	r.level(level).Divergences++
	r.Divergences = append(r.Divergences, Divergence{level, seed, f.what, f.want, f.got, note, r.again(level, seed), script})
}

// again is the command line that meets a divergence first.
func (r *Report) again(level Level, seed int64) string {
	words := []string{"bailiff conform"}
	if r.URL != "" {
		words = append(words, "--url "+shellWord(r.URL))
	}
	words = append(words, fmt.Sprintf("--seed %d --level %s", seed, level))
	for _, flag := range r.flags {
		words = append(words, shellWord(flag))
	}
	return strings.Join(words, " ")
}

// Text writes the report for people.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", strings.TrimSpace(r.URL+" "+r.Implementation))
	for i := range r.Levels {
		l := &r.Levels[i]
		fmt.Fprintf(&b, "%-12s %9d cases  %s\n", l.Level, l.Cases, l.verdict())
		for _, reason := range slices.Sorted(maps.Keys(l.NotRun)) {
			fmt.Fprintf(&b, "%-12s %9d not run: %s\n", "", l.NotRun[reason], reason)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Laws)) {
		fmt.Fprintf(&b, "%-12s %9d pairs of requests\n", "law "+name, r.Laws[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.RateLimits)) {
		fmt.Fprintf(&b, "the limit %q was met %d times, and waited for\n", name, r.RateLimits[name])
	}
	for i := range r.Divergences {
		d := &r.Divergences[i]
		fmt.Fprintf(&b, "\n%s diverges: %s\n  expected: %s\n  got:      %s\n", d.Level, d.What, d.Expected, d.Got)
		if d.Note != "" {
			fmt.Fprintf(&b, "  note:     %s\n", d.Note)
		}
		fmt.Fprintf(&b, "  again:    %s\n\n%s\n", d.Again, d.Script)
	}
	if !r.diverged() {
		for _, missing := range r.Missing() {
			fmt.Fprintf(&b, "not finished: %s\n", missing)
		}
	}
	rate := 0.0
	if r.Seconds > 0 {
		rate = float64(r.Cases) / r.Seconds
	}
	fmt.Fprintf(&b, "%d cases in %.1f s (%.0f a second), %d divergences; --seed %d\n", r.Cases, r.Seconds, rate, len(r.Divergences), r.Seed)
	_, err := io.WriteString(w, b.String())
	return err
}

func (l *LevelReport) verdict() string {
	switch {
	case l.Divergences > 0:
		return "diverges"
	case l.Cases == 0:
		return "not run"
	}
	return "conforms"
}

// JSON writes the report as JSON.
func (r *Report) JSON(w io.Writer) error { return writeJSON(w, r) }

// The elements of JUnit's form.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string     `xml:"name,attr"`
		Class   string     `xml:"classname,attr"`
		Time    string     `xml:"time,attr,omitempty"`
		Failure *junitText `xml:"failure,omitempty"`
		Error   *junitText `xml:"error,omitempty"`
		Skipped *junitText `xml:"skipped,omitempty"`
	}
	junitText struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// add adds a test case, and counts it.
func (s *junitSuite) add(c junitCase) {
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

// seconds writes seconds as JUnit has them.
func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }

// write writes the suite as XML.
func (s *junitSuite) write(w io.Writer) error {
	text, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}

// JUnit writes the report in the form of JUnit: a test case for each level, a skipped one for each reason for which cases of a level
// were not run, and one with an error where the run has not ended as it was asked to.
func (r *Report) JUnit(w io.Writer) error {
	suite := junitSuite{Name: "bailiff conform " + r.URL, Time: seconds(r.Seconds)}
	for i := range r.Levels {
		l := &r.Levels[i]
		c := junitCase{Name: fmt.Sprintf("%s: %d cases, seed %d", l.Level, l.Cases, r.Seed), Class: "conform." + string(l.Level)}
		for j := range r.Divergences {
			if d := &r.Divergences[j]; d.Level == l.Level {
				c.Failure = &junitText{d.What + ": expected " + d.Expected + ", got " + d.Got, d.Again + "\n\n" + d.Script}
			}
		}
		if c.Failure == nil && l.Cases == 0 {
			c.Skipped = &junitText{Message: cmp.Or(r.Stopped, l.whyNot())}
		}
		suite.add(c)
		for j, reason := range l.reasons() {
			suite.add(junitCase{Name: fmt.Sprintf("%s: cases that were not run (%d)", l.Level, j+1), Class: c.Class, Skipped: &junitText{Message: reason}})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Laws)) {
		suite.add(junitCase{Name: fmt.Sprintf("law of %s: %d pairs of requests", name, r.Laws[name]), Class: "conform.laws"})
	}
	if missing := r.Missing(); len(missing) > 0 && !r.diverged() {
		suite.add(junitCase{Name: "the run is finished", Class: "conform", Error: &junitText{Message: strings.Join(missing, "; ")}})
	}
	return suite.write(w)
}
