package conform

import (
	"testing"
	"time"

	"bailiff/fuzz/differential"
)

// TestLeaveOut: a case is left out where another day changes its answer, and nowhere else.
func TestLeaveOut(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 30, 0, 0, time.UTC)
	body := []byte(goodBody[:len(goodBody)-len(`{"action":"deploy"}}`)] + `{"action":"deploy","task_id":"t"}}`)
	for _, one := range []struct {
		rules string
		left  int
	}{
		{"", 0},
		{"## soft_limits\ndaily_tool_calls: 1\n", 1},
		{"## soft_limits\ndaily_tool_calls: 2\n", 0},
		{"## execution_limits\nmax_tool_calls_per_hour: 1\n", 1},
		{"## execution_limits\nmax_tool_calls_per_task: 1\n", 0},
		{"## execution_limits\nrequire_approval: deploy\n", 1},
	} {
		subject, err := differential.NewSubject([]byte(onePolicy + one.rules))
		if err != nil {
			t.Fatal(err)
		}
		s := &session{kit: &Kit{report: newReport(Config{})}, history: differential.NewHistory(), subject: subject, hash: "0"}
		s.history.Decide(subject, differential.Request{Body: body, PolicyHash: s.hash, At: now})
		s.leaveOut(Limits, nextWindow, body, false, now, now.Add(24*time.Hour))
		if left := s.kit.report.level(Limits).NotRun[nextWindow]; left != one.left {
			t.Errorf("%q: %d cases are left out, expected %d", one.rules, left, one.left)
		}
	}
}
