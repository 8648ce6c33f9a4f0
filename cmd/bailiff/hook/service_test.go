package hook

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bailiff/cmd/bailiff/cli"
	cmdclient "bailiff/cmd/bailiff/client"
	"bailiff/runtime/ledger"
)

// TestScopeProbes: every scope but authorize is tried.
func TestScopeProbes(t *testing.T) {
	all := ledger.ScopeAuthorize
	for _, probe := range scopeProbes {
		all |= probe.scope
	}
	if all != ledger.AllScopes {
		t.Errorf("the scopes %s are tried, of %s", all, ledger.AllScopes)
	}
}

// TestCheckScopes: a key is taken only where the service refuses everything but authorize for its scope.
func TestCheckScopes(t *testing.T) {
	const insufficient = `{"status":"ERROR","error_code":"SVC_API_KEY_SCOPE_INSUFFICIENT","message":"m"}`
	for _, row := range []struct {
		name           string
		events, deploy int
		deployed       string
		webhooks       int
		listed         string
		want           string
	}{
		{"authorize alone", 200, 403, insufficient, 403, insufficient, ""},
		{"deploys", 200, 400, `{"error_code":"SVC_VALIDATION_ERROR_SCHEMA"}`, 403, insufficient, "has the scope warranty:deploy"},
		{"webhooks", 200, 403, insufficient, 200, `[]`, "has the scope webhooks:write"},
		{"no authorize", 403, 403, insufficient, 403, insufficient, "SVC_API_KEY_SCOPE_INSUFFICIENT"},
		{"unknown key", 401, 401, `{"error_code":"SVC_API_KEY_INVALID"}`, 401, `{}`, "401"},
		{"refused for another reason", 200, 403, `{"error_code":"SVC_TIER_INSUFFICIENT"}`, 403, insufficient, "can't be told"},
		{"too many requests", 200, 429, `{"error_code":"SVC_RATE_LIMITED"}`, 403, insufficient, "can't be told"},
		{"not found", 200, 404, `{"error_code":"SVC_NOT_FOUND"}`, 403, insufficient, "can't be told"},
		{"fails", 200, 403, insufficient, 500, `{}`, "can't be told"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			status, body := row.events, `{"events":[],"next":"0","more":false}`
			switch {
			case r.URL.Path == "/v1/warranty/deploy":
				status, body = row.deploy, row.deployed
			case r.URL.Path == "/v1/webhooks":
				status, body = row.webhooks, row.listed
			case status != 200:
				body = insufficient
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}))
		service, err := (&cmdclient.ApiFlags{URL: server.URL, APIKey: "sk_svc_1"}).Client(cli.Streams{Err: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		err = checkScopes(context.Background(), service)
		if got := fmt.Sprint(err); row.want == "" && err != nil || row.want != "" && !strings.Contains(got, row.want) {
			t.Errorf("%s: %v, want %q", row.name, err, row.want)
		}
		server.Close()
	}
}

// TestOnlyRoots: root runs no program that somebody else could have put there.
func TestOnlyRoots(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	folder := t.TempDir()
	program := filepath.Join(folder, "bin", "p")
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(folder, "link")
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	check := func(what string, want bool) {
		t.Helper()
		if onlyRoots(program) != want || onlyRoots(link) != want {
			t.Errorf("%s: %t and %t, want %t", what, onlyRoots(program), onlyRoots(link), want)
		}
	}
	step := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check("root's", true)
	step(os.Chmod(program, 0o775))
	check("a group can write it", false)
	step(os.Chmod(program, 0o755))
	step(os.Chmod(filepath.Dir(program), 0o777))
	check("anybody can replace it", false)
	step(os.Chmod(filepath.Dir(program), 0o755))
	step(os.Chown(program, 1, 1))
	check("another user's", false)
	step(os.Chown(program, 0, 0))
	check("root's again", true)
	if onlyRoots(filepath.Join(folder, "absent")) {
		t.Error("what is not there is root's")
	}
}
