package differential_test

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"bailiff/fuzz/differential"
	"bailiff/runtime/intent"
)

// TestFound replays every divergence that was ever found. A file holds one or more policies, and below each the
// requests that the two judged differently, with the verdict on which they agree now:
//
//	policy   the text; answers ok
//	judge    one request a line: agent or shim, and the body; answers with the verdict of both
func TestFound(t *testing.T) {
	datadriven.Walk(t, "testdata/found", func(t *testing.T, path string) {
		var subject *differential.Subject
		judge := differential.NewJudge()
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			switch td.Cmd {
			case "policy":
				s, err := differential.NewSubject([]byte(td.Input + "\n"))
				if err != nil {
					td.Fatalf(t, "%v", err)
				}
				subject = s
				return "ok\n"
			case "judge":
				return replay(t, judge, subject, td)
			}
			td.Fatalf(t, "unknown command %q", td.Cmd)
			return ""
		})
	})
}

func replay(t *testing.T, judge *differential.Judge, subject *differential.Subject, td *datadriven.TestData) string {
	var b strings.Builder
	for line := range strings.Lines(td.Input) {
		from, body, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if from != string(intent.Agent) && from != string(intent.Shim) {
			td.Fatalf(t, "a request begins with agent or shim, not with %q", from)
		}
		machine, oracle, invalid := judge.Body(subject, []byte(body), intent.Provenance(from))
		if invalid != nil {
			b.WriteString("400 " + invalid.Error() + "\n")
			continue
		}
		if what := machine.Difference(oracle); what != "" {
			t.Errorf("%s: they differ in their %s again:\n%s\nthe machine says: %s\nthe oracle says:  %s", td.Pos, what, body, machine, oracle)
		}
		b.WriteString(machine.String() + "\n")
	}
	return b.String()
}
