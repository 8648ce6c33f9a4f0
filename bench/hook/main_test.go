package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestAsk is the canary of the measurement: an answer other than the expected one is an error, and not a fast call.
func TestAsk(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refused" {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = w.Write([]byte("ALLOWED"))
	}))
	defer server.Close()
	for path, want := range map[string]bool{"/": true, "/refused": false} {
		if err := ask(http.DefaultClient, server.URL+path, "{}", "ALLOWED"); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if ask(http.DefaultClient, server.URL, "{}", "DENIED") == nil {
		t.Error("another answer passes")
	}
	if once(nil, "", "/bin/echo", "x") == nil {
		t.Error("an output passes")
	}
}
