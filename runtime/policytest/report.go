package policytest

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"bailiff/grammar"
)

// Report is what came of the tests of one policy.
type Report struct {
	Policy   string
	Results  []Result
	Coverage Coverage
}

// Failed returns how many tests failed.
func (r *Report) Failed() (failed int) {
	for i := range r.Results {
		if !r.Results[i].OK {
			failed++
		}
	}
	return failed
}

// Write writes the report for people: a line for each test, what is wrong below those that failed, and what it comes
// to. With uncovered it lists the rules that no test names.
func (r *Report) Write(w io.Writer, uncovered bool) error {
	for i := range r.Results {
		if err := r.Results[i].write(w, r.Policy); err != nil {
			return err
		}
	}
	if uncovered {
		for _, place := range r.Coverage.Uncovered {
			if _, err := fmt.Fprintf(w, "%s:%d: %s is named by no test\n", r.Policy, place.Line, place.Rule); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintf(w, "%s: %d of %d tests passed; %d of %d rules covered (%d %%)\n", r.Policy,
		len(r.Results)-r.Failed(), len(r.Results), r.Coverage.Covered(), r.Coverage.Rules, r.Coverage.Percent())
	return err
}

func (r *Result) write(w io.Writer, policy string) error {
	name := grammar.Visible(r.Name)
	if r.OK {
		_, err := fmt.Fprintf(w, "ok    %s:%d: %s\n", r.File, r.Line, name)
		return err
	}
	if r.Step > 0 {
		name += ", step " + strconv.Itoa(r.Step)
	}
	text := fmt.Appendf(nil, "FAIL  %s:%d: %s\n", r.File, r.Line, name)
	if r.Problem != "" {
		text = fmt.Appendf(text, "      %s\n", r.Problem)
	} else {
		text = fmt.Appendf(text, "      expected %s\n      got      %s\n", grammar.Visible(r.Expected), grammar.Visible(r.Got))
	}
	for i := range r.Violations {
		v := &r.Violations[i]
		text = fmt.Appendf(text, "      %s:%d: %s %s: %s\n", policy, v.Line, v.Rule, v.Code, grammar.Visible(v.Message))
	}
	_, err := w.Write(text)
	return err
}

// The JSON of reports.
type (
	reportJSON struct {
		Policy   string       `json:"policy"`
		Passed   int          `json:"passed"`
		Failed   int          `json:"failed"`
		Tests    []resultJSON `json:"tests"`
		Coverage coverageJSON `json:"coverage"`
	}
	resultJSON struct {
		Result
		Violations []placeJSON `json:"violations,omitempty"`
	}
	coverageJSON struct {
		Rules     int         `json:"rules"`
		Covered   int         `json:"covered"`
		Percent   int         `json:"percent"`
		Uncovered []placeJSON `json:"uncovered"`
	}
	placeJSON struct {
		Rule    string `json:"rule"`
		Line    int    `json:"line"`
		Code    string `json:"error_code,omitempty"`
		Message string `json:"message,omitempty"`
	}
)

// WriteJSON writes reports as one JSON array.
func WriteJSON(w io.Writer, reports []Report) error {
	all := make([]reportJSON, len(reports))
	for i := range reports {
		all[i] = reports[i].json()
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(all)
}

func (r *Report) json() reportJSON {
	report := reportJSON{Policy: r.Policy, Passed: len(r.Results) - r.Failed(), Failed: r.Failed(), Tests: []resultJSON{}}
	for _, result := range r.Results {
		one := resultJSON{Result: result}
		for _, v := range result.Violations {
			one.Violations = append(one.Violations, placeJSON{v.Rule, v.Line, string(v.Code), v.Message})
		}
		report.Tests = append(report.Tests, one)
	}
	report.Coverage = coverageJSON{r.Coverage.Rules, r.Coverage.Covered(), r.Coverage.Percent(), []placeJSON{}}
	for _, place := range r.Coverage.Uncovered {
		report.Coverage.Uncovered = append(report.Coverage.Uncovered, placeJSON{Rule: place.Rule, Line: place.Line})
	}
	return report
}
