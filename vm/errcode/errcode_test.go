package errcode

import (
	"strings"
	"testing"
)

// TestLookup: each code has its own row, and one that is not documented that of an internal error.
func TestLookup(t *testing.T) {
	for _, info := range Table {
		if Lookup(info.Code).Code != info.Code {
			t.Errorf("%s has the row of %s", info.Code, Lookup(info.Code).Code)
		}
	}
	if got := Lookup("SVC_UNKNOWN").Code; got != Internal {
		t.Errorf("a code that is not documented has the row of %s", got)
	}
}

// TestRetry: each answer to whether a request may be sent again is of its own.
func TestRetry(t *testing.T) {
	for retry, want := range map[Retry]string{Never: "no: ", Mended: "yes, once ", Later: "yes, later: "} {
		if got := retry.String(); !strings.HasPrefix(got, want) {
			t.Errorf("%d: %q, want %q", retry, got, want)
		}
	}
}
