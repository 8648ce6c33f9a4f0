package eventjson_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"bailiff/runtime/eventjson"
	"bailiff/runtime/ledger/state"
)

// TestGolden shows the records of ledger/state's golden file, a line each. Lines are added with records; what is there is what
// readers of events have come to rely on.
func TestGolden(t *testing.T) {
	records, err := os.ReadFile("../ledger/state/testdata/records.txt")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/events.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(want), "\n")
	for line := range strings.Lines(string(records)) {
		data, err := hex.DecodeString(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		var r state.Record
		if err := r.Decode(string(data)); err != nil {
			t.Fatal(err)
		}
		got := "none"
		if e := r.View(7); e.Kind != 0 {
			text, err := json.Marshal(eventjson.View(&e))
			if err != nil {
				t.Fatal(err)
			}
			got = string(text)
		}
		if got != lines[0] {
			t.Errorf("kind %d is shown as\n%s\nand was shown as\n%s", data[0], got, lines[0])
		}
		if lines = lines[1:]; len(lines) == 0 {
			t.Fatal("testdata/events.txt has too few lines")
		}
	}
	if len(lines) != 1 || lines[0] != "" {
		t.Errorf("%d lines are left over", len(lines))
	}
}
