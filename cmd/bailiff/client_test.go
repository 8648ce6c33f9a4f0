package main

import (
	"bailiff/cmd/bailiff/cli"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestOtherService holds that a server that is not the service, and answers everything with success, is not believed.
func TestOtherService(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("{}"))
	}))
	defer other.Close()
	for _, command := range []string{"webhooks remove x", "webhooks add https://example.com/", "holds show x", "events"} {
		arguments := append(strings.Fields(command), "--url", other.URL, "--api-key", "sk_svc_x")
		var out, problems strings.Builder
		if code := run(arguments, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &problems}); code != cli.ExitFailed || out.Len() > 0 {
			t.Errorf("%s: code %d, says %q %q", command, code, out.String(), problems.String())
		}
	}
}
