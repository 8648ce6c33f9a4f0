package client

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bailiff/cmd/bailiff/cli"
)

// TestStatementsAreSentAgain: a statement that the service had no time to look at is sent again, the same each time; after any other refusal it is not.
func TestStatementsAreSentAgain(t *testing.T) {
	for _, row := range []struct {
		name    string
		answers []string // before the good one
		status  []int
		asked   int
		says    string
	}{
		{"at once", nil, nil, 1, ""},
		{"a flood", []string{"SVC_RATE_LIMITED", "SVC_RATE_LIMIT_STORE_UNAVAILABLE"}, []int{429, 503}, 3, ""},
		{"a bad one", []string{"SVC_OPERATOR_STATEMENT_INVALID"}, []int{403}, 1, "SVC_OPERATOR_STATEMENT_INVALID"},
		{"used", []string{"SVC_OPERATOR_STATEMENT_USED"}, []int{409}, 1, "SVC_OPERATOR_STATEMENT_USED"},
		{"without its store", []string{"SVC_STORE_UNAVAILABLE"}, []int{503}, 1, "SVC_STORE_UNAVAILABLE"},
	} {
		var bodies []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var body bytes.Buffer
			_, _ = body.ReadFrom(r.Body)
			n := len(bodies)
			if bodies = append(bodies, body.String()); n < len(row.answers) {
				w.WriteHeader(row.status[n])
				_, _ = w.Write([]byte(`{"status":"X","error_code":"` + row.answers[n] + `","message":"no"}`))
				return
			}
			_, _ = w.Write([]byte(`{"halted":true}`))
		}))
		var said bytes.Buffer
		var view struct{ Halted bool }
		c := afarFlags{URL: server.URL}
		err := c.state(cli.Streams{Err: &said}, "/v1/operator/halt", map[string]any{"serial": 7}, &view)
		server.Close()
		if len(bodies) != row.asked || view.Halted != (row.says == "") || strings.Contains(said.String(), "sent again") != (row.asked > 1) {
			t.Errorf("%s: asked %d times, said %q, %v %+v", row.name, len(bodies), said.String(), err, view)
		}
		if row.says == "" && err != nil || row.says != "" && (err == nil || !strings.Contains(err.Error(), row.says)) {
			t.Errorf("%s: %v", row.name, err)
		}
		for _, body := range bodies {
			if body != bodies[0] {
				t.Errorf("%s: another statement is sent again", row.name)
			}
		}
	}
}
