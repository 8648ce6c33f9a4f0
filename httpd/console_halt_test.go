package httpd

import (
	"context"
	"strings"
	"testing"

	"bailiff/runtime/accounts"
)

// TestConsoleSaysThatItIsHalted: each page of a session says that nothing is allowed, and why, for as long as that is so.
func TestConsoleSaysThatItIsHalted(t *testing.T) {
	w := newWorld(t)
	b := w.visitConsole(nil)
	w.createKey("agent", accounts.NewKey{})
	b.signIn(w, "agent")
	says := func(want bool) {
		t.Helper()
		for _, path := range []string{"/console", "/console/events", "/console/holds", "/console/key"} {
			if _, page := b.get(path); strings.Contains(page, "Stopped: the service is frozen since") != want {
				t.Errorf("%s says that it is halted: %v", path, !want)
			}
		}
	}
	says(false)
	if _, err := w.admin.Halt(context.Background(), accounts.HaltRequest{Action: accounts.Freeze, Reason: "<b>drill</b>"}); err != nil {
		t.Fatal(err)
	}
	says(true)
	if _, page := b.get("/console"); !strings.Contains(page, "(&lt;b&gt;drill&lt;/b&gt;)") {
		t.Error("the reason is not on the page as it was given")
	}
}
