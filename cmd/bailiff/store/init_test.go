package store

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestInitSaysID: the ID that certificates name is the one of the status, at the first run and at the next.
func TestInitSaysID(t *testing.T) {
	s := newSite(t)
	for _, done := range []string{"the tables were made", "the tables are there already"} {
		s.must(s.run(&initCommand{}))
		made := s.said.String()
		if err := s.run(&statusCommand{JSON: true}); err == nil {
			t.Error("the status has an instance that decides")
		}
		var status statusView
		s.must(json.Unmarshal([]byte(s.said.String()), &status))
		if want := done + " (environment production, store " + status.ID + ")\n"; made != want || len(strings.TrimSpace(status.ID)) < 16 {
			t.Errorf("%q, want %q", made, want)
		}
	}
}
