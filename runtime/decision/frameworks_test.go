package decision

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
)

// TestKnownFrameworks: the names under which the project's own clients ask are no news, and others are, once.
func TestKnownFrameworks(t *testing.T) {
	if !slices.IsSorted(knownFrameworks) {
		t.Errorf("%q are not sorted", knownFrameworks)
	}
	var text strings.Builder
	log, seen := slog.New(slog.NewTextHandler(&text, nil)), frameworks{}
	for _, name := range []string{"viem", "bailiff-cli", "custom", "never-heard-of", "never-heard-of"} {
		seen.warn(log, name)
	}
	if got := text.String(); strings.Count(got, "unknown framework") != 1 || !strings.Contains(got, "never-heard-of") {
		t.Error(got)
	}
}
