package predicted

import (
	"encoding/json"
	"flag"
	"path/filepath"
	"testing"
)

var files = flag.String("stories", "testdata/*.jsonl", "the files of stories to run, as a pattern")

// TestPredicted holds every decision against what its reader expected.
func TestPredicted(t *testing.T) {
	paths, err := filepath.Glob(*files)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no stories in %s: %v", *files, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			stories, err := Read(path)
			if err != nil {
				t.Fatal(err)
			}
			predictions, missed := 0, 0
			for i := range stories {
				wrong, err := stories[i].Run()
				if err != nil {
					t.Fatal(err)
				}
				predictions += stories[i].Predictions()
				missed += len(wrong)
				for _, line := range wrong {
					t.Error(line)
				}
			}
			t.Logf("%d predictions, %d of them not met", predictions, missed)
		})
	}
}

// TestNotMet: a wrong expectation of each kind is told (the canary of this package).
func TestNotMet(t *testing.T) {
	const policy = "version: 2.0.0\n\n## tool_calls\nallowed: bash\nbash.blocked_commands: rm\n"
	body := json.RawMessage(`{"framework":"custom","agentId":"a","txCommit":"` +
		"b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c" + `","intent":{"action":"bash","command":"rm x"}}`)
	denied := Decision{"DENIED", "SVC_POLICY_VIOLATION_BLOCKED_COMMAND", "tool_calls.bash.blocked_commands"}
	for _, story := range []Story{
		{Policy: policy, Refused: true},
		{Policy: policy, Warned: true, Steps: []Step{{Intent: body, Expect: denied}}},
		{Policy: "version: 2.0.0\n## tool\n"},
		{Policy: policy, Steps: []Step{{Intent: body, Expect: Decision{Status: "ALLOWED"}}}},
		{Policy: policy, Steps: []Step{{Intent: body, Expect: Decision{denied.Status, denied.Code, "tool_calls.allowed"}}}},
		{Policy: policy, Steps: []Step{{Intent: body, Expect: Decision{denied.Status, "SVC_LOOP_LIMIT_EXCEEDED", denied.Rule}}}},
	} {
		if wrong, err := story.Run(); err != nil || len(wrong) != 1 {
			t.Errorf("%+v: %q, %v", story, wrong, err)
		}
	}
	right := Story{Policy: policy, Steps: []Step{{Intent: body, Expect: denied}}}
	if wrong, err := right.Run(); err != nil || len(wrong) != 0 {
		t.Errorf("what is expected rightly: %q, %v", wrong, err)
	}
}
