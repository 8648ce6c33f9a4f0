package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestPrintJSON: whatever an agent chose, what is printed is the same JSON, and shows every character that is in it.
func TestPrintJSON(t *testing.T) {
	const chosen = "pay\u202e\u2066 \u200b\u009b31m\x7f\u00ad\u2028\U000e0041\ue000 bücher 支付 <&>\x1b[2J\n"
	var printed strings.Builder
	if err := PrintJSON(&printed, map[string]string{chosen: chosen}); err != nil {
		t.Fatal(err)
	}
	for _, r := range "\u202e\u2066\u200b\u009b\x7f\u00ad\u2028\U000e0041\ue000\x1b" {
		if strings.ContainsRune(printed.String(), r) {
			t.Errorf("%U is printed as it is", r)
		}
	}
	if !strings.Contains(printed.String(), "bücher 支付 <&>") {
		t.Errorf("what can be shown is not: %s", printed.String())
	}
	var back map[string]string
	if err := json.Unmarshal([]byte(printed.String()), &back); err != nil || back[chosen] != chosen {
		t.Errorf("it reads back as %q (%v)", back, err)
	}
}

func TestSeenWriter(t *testing.T) {
	var printed strings.Builder
	const text = "\"a\u202eb\"\n"
	if n, err := (SeenWriter{&printed}).Write([]byte(text)); n != len(text) || err != nil || printed.String() != `"a\u202eb"`+"\n" {
		t.Errorf("%d, %v: %q", n, err, printed.String())
	}
}
