package tracecontext

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	const good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	p, ok := Parse(good)
	if !ok || p.Trace[0] != 0x4b || p.Trace[15] != 0x36 || p.Span[1] != 0xf0 || p.Span[7] != 0xb7 || p.Flags != 1 {
		t.Errorf("%+v, %v", p, ok)
	}
	for _, bad := range []string{
		"", "00", good[1:], good + "0", good + "-00", strings.ToUpper(good), strings.Replace(good, "4b", "4g", 1), "01" + good[2:], "ff" + good[2:],
		strings.Replace(good, "-00f", "_00f", 1), strings.Replace(good, "b7-", "b7_", 1), strings.Replace(good, "-01", "-0x", 1),
		"00-" + strings.Repeat("0", 32) + good[35:], good[:36] + strings.Repeat("0", 16) + good[52:], strings.Replace(good, "a6", "é", 1),
	} {
		if WellFormed(bad) {
			t.Errorf("%q is taken", bad)
		}
	}
}
