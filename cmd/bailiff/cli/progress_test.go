package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestProgress: progress is said after a second, once a second, and only where it is asked for.
func TestProgress(t *testing.T) {
	for _, asked := range []bool{false, true} {
		var out bytes.Buffer
		p := ProgressFlag{Progress: asked}.Start(Streams{Err: &out}, "copying")
		p.Reached("record %d", 1)
		if out.Len() > 0 {
			t.Errorf("at once: %s", out.String())
		}
		p.last = p.last.Add(-progressAfter)
		for n := range 3 {
			p.Reached("record %d", 2+n)
		}
		if want := map[bool]string{true: "bailiff: copying: record 2\n"}[asked]; out.String() != want {
			t.Errorf("asked %v: %q, want %q", asked, out.String(), want)
		}
	}
	var out bytes.Buffer
	p := ProgressFlag{Progress: true}.Start(Streams{Err: &out}, "verifying")
	done := p.Working()
	time.Sleep(progressAfter + progressAfter/2)
	done()
	if !strings.HasPrefix(out.String(), "bailiff: verifying: ") {
		t.Errorf("%q", out.String())
	}
}
