package client

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestPins: what cannot be the service's account of the pins is no answer, so that nothing is called on the strength of it.
func TestPins(t *testing.T) {
	sum := strings.Repeat("a", 64)
	good := `{"server":"files","tools":[{"name":"read","sha256":"` + sum + `","acceptedAt":"2026-11-21T12:00:00Z","changed":{"sha256":"` + sum + `","seenAt":"2026-11-21T12:00:00Z"}}]}`
	answer, asked := "", ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = r.Method + " " + r.RequestURI + " " + string(body)
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	c, err := New(Config{URL: server.URL, Key: "sk_svc_x"})
	if err != nil {
		t.Fatal(err)
	}
	answer = good
	pins, err := c.Pins(t.Context(), "files")
	if err != nil || len(pins) != 1 || pins[0].SHA256 != sum || pins[0].Changed == nil || asked != "GET /v1/mcp/pins?server=files " {
		t.Errorf("%q: %+v %v", asked, pins, err)
	}
	if _, err = c.Pins(t.Context(), "a&b"); !strings.HasPrefix(asked, "GET /v1/mcp/pins?server=a%26b ") || err == nil {
		t.Errorf("%q %v", asked, err)
	}
	pins, err = c.MeetTools(t.Context(), "files", []ListedTool{{Name: "read", Definition: `{"a":"<"}`}})
	if err != nil || len(pins) != 1 || asked != `POST /v1/mcp/pins {"server":"files","tools":[{"name":"read","definition":"{\"a\":\"<\"}"}]}` {
		t.Errorf("%q: %+v %v", asked, pins, err)
	}
	for _, answer = range []string{
		"", "{}", `{"server":"files"}`, `{"server":"files","tools":null}`, strings.Replace(good, "files", "other", 1), strings.Replace(good, sum, "", 1),
	} {
		var gone *Unreachable
		if pins, err := c.Pins(t.Context(), "files"); !errors.As(err, &gone) || pins != nil {
			t.Errorf("%s: %+v %v", answer, pins, err)
		}
	}
}
