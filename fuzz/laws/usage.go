package laws

import (
	"fmt"
	"strings"

	"bailiff/fuzz/gen"
	"bailiff/runtime/attest"
)

// usage is one report of model usage. Below zero, a part is not in it.
type usage struct{ input, output, total int }

// body returns a model intent that reports it.
func (u usage) body() *gen.Case {
	var parts []string
	for _, part := range []struct {
		name string
		n    int
	}{{"input_tokens", u.input}, {"output_tokens", u.output}, {"total_tokens", u.total}} {
		if part.n >= 0 {
			parts = append(parts, fmt.Sprintf("%q:%d", part.name, part.n))
		}
	}
	return &gen.Case{Body: gen.ModelIntent("{" + strings.Join(parts, ",") + "}")}
}

// UsageParts holds that of several reports of a task the highest value of each part counts, and the total never less
// than its parts (decisions, section 2, "Limits"): after them an intent is decided as after one report of the highest
// values. authorize is Service.Authorize.
func UsageParts(seed int64, signer *attest.Signer, authorize func(*Service, *gen.Case) (Decided, error), seen map[string]int) (problem string) {
	r := gen.NewRand(seed)
	text := fmt.Sprintf("version: 2.3.0\n## tool_calls\nallowed: deploy\n## execution_limits\nmax_model_tokens_per_task: %d\n", 1+r.N(60))
	var reports []usage
	highest := usage{total: -1}
	for range 1 + r.N(3) {
		u := usage{r.N(30), r.N(30), -1}
		switch {
		case r.Chance(30):
			u = usage{-1, -1, r.N(60)}
		case r.Chance(40):
			u.total = r.N(60)
		}
		highest = usage{max(highest.input, u.input), max(highest.output, u.output), max(highest.total, u.total)}
		reports = append(reports, u)
	}
	after := func(reports []usage) string {
		service, err := NewService(text, signer)
		if err != nil {
			problem = err.Error()
			return ""
		}
		defer service.Close()
		status := ""
		for _, report := range append(reports, usage{0, 0, -1}) {
			decided, err := authorize(service, report.body())
			if err != nil {
				problem = err.Error()
			}
			status = decided.Status
		}
		return status
	}
	several, one := after(reports), after([]usage{highest})
	seen[one]++
	if problem == "" && several != one {
		return fmt.Sprintf("%s\nafter the reports %+v an intent is %s, after one of %+v it is %s", text, reports, several, highest, one)
	}
	return problem
}
