package httpd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"bailiff/grammar"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
)

// checker holds requests and answers against the OpenAPI document, and keeps what it has seen.
type checker struct {
	document *openapi3.T
	seen     map[string]bool // "GET /v1/events 200"
}

// newChecker reads the document as a stranger would, and has it validated.
func newChecker(t *testing.T) *checker {
	t.Helper()
	w := newWorld(t)
	server := w.serve(w.config(w.authority("", false)))
	document, err := openapi3.NewLoader().LoadFromData(server.documents.openAPI)
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Validate(context.Background()); err != nil {
		t.Fatalf("the document is no OpenAPI document: %v", err)
	}
	if !document.IsOpenAPI31OrLater() {
		t.Fatalf("the document is of version %s", document.OpenAPI)
	}
	return &checker{document, map[string]bool{}}
}

// input returns what the filter judges by; nil where the request leads to no operation, or can't be read.
func (c *checker) input(raw []byte) *openapi3filter.RequestValidationInput {
	request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
	if err != nil {
		return nil
	}
	resource, parameter := find([]byte(request.URL.EscapedPath()))
	if resource == nil {
		return nil
	}
	method := request.Method
	if method == "HEAD" {
		method = "GET"
	}
	item := c.document.Paths.Value(resource.path)
	operation := item.GetOperation(method)
	if operation == nil {
		return nil
	}
	input := &openapi3filter.RequestValidationInput{
		Request: request, PathParams: map[string]string{},
		Route: &routers.Route{Spec: c.document, Path: resource.path, PathItem: item, Method: method, Operation: operation},
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true, RejectWhenRequestBodyNotSpecified: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
		},
	}
	if resource.parameter != "" {
		input.PathParams[resource.parameter] = string(parameter)
	}
	return input
}

// problem says what of a request that was accepted, or of an answer, is not as documented.
func (c *checker) problem(raw []byte, response *http.Response, body string) error {
	input := c.input(raw)
	if input == nil {
		return nil
	}
	refused := strings.Contains(body, `"permissionDecision":"deny"`) // by a hook, with the status 200
	if response.StatusCode < 300 && !refused || response.StatusCode == http.StatusForbidden && strings.Contains(body, `"policyHash"`) {
		input.Request.Header.Set("Content-Type", "application/json") // the API does not ask for it
		if err := openapi3filter.ValidateRequest(context.Background(), input); err != nil {
			return fmt.Errorf("an accepted request: %w", err)
		}
	}
	c.seen[fmt.Sprintf("%s %s %d", input.Route.Method, input.Route.Path, response.StatusCode)] = true
	if documented := input.Route.Operation.Responses.Status(response.StatusCode); documented != nil {
		for field := range response.Header {
			if !isDocumented(documented.Value.Headers, field) {
				return fmt.Errorf("the field %s is not documented", field)
			}
		}
	}
	return openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: response.StatusCode, Header: response.Header, Options: input.Options,
		Body: io.NopCloser(strings.NewReader(body)),
	})
}

// everyAnswer is the fields that any answer of HTTP may have, and that are told of no route.
var everyAnswer = []string{"Cache-Control", "Connection", "Content-Length", "Content-Type", "Date", "Server"}

// isDocumented reports whether a field is among those of a response, however it is spelled.
func isDocumented(fields openapi3.Headers, name string) bool {
	for field := range fields {
		if strings.EqualFold(field, name) {
			return true
		}
	}
	return slices.Contains(everyAnswer, name)
}

func (c *checker) check(t *testing.T, raw []byte, response *http.Response, body string) {
	t.Helper()
	// What never came to a route is no route's answer.
	unread := strings.Contains(body, "not well-formed HTTP") || strings.Contains(body, "Transfer-Encoding") || strings.Contains(body, "second line")
	if unread {
		return
	}
	if err := c.problem(raw, response, body); err != nil {
		t.Errorf("%.100q is answered otherwise than documented: %v", raw, err)
	}
}

// complete fails where an answer of the table of routes was not seen. What can't be shown in a session is named here,
// with where it is shown.
func (c *checker) complete(t *testing.T) {
	if t.Failed() {
		return
	}
	elsewhere := []string{
		"POST /v1/authorize 503", "POST /v1/authorize/test-run 503", // TestStoreFails
		"GET /v1/events 503", "GET /v1/limits 503", "GET /v1/response-policy 503", "GET /v1/events/checkpoint 503", "POST /v1/warranty/deploy 503", "POST /v1/keys/register 503",
		"GET /v1/webhooks 503", "POST /v1/webhooks 503", "DELETE /v1/webhooks/{id} 503", "POST /v1/webhooks/{id}/enable 503", "POST /v1/holds/{holdId}/resolution 503",
		"GET /v1/service-metadata 503",                  // TestMetadataWithoutCommit
		"POST /v1/webhooks 409",                         // TestTooManyWebhooks
		"GET /v1/mcp/pins 503", "POST /v1/mcp/pins 503", // TestStoreFails
		"POST /v1/mcp/pins 409",                                                                                                                              // TestTooManyPinnedServers
		"GET /.well-known/authzen-configuration 404",                                                                                                         // TestAddressUnknown
		"GET /readyz 503",                                                                                                                                    // TestReady
		"POST /v1/operator/halt 200", "POST /v1/operator/halt 403", "POST /v1/operator/halt 404", "POST /v1/operator/halt 409", "POST /v1/operator/halt 503", // TestStatements
		"POST /v1/operator/rotation 200", "POST /v1/operator/rotation 403", "POST /v1/operator/rotation 409", "POST /v1/operator/rotation 503", // TestStatements
	}
	for i := range routes {
		for _, a := range routes[i].answers {
			answer := fmt.Sprintf("%s %s %d", routes[i].method, routes[i].path, a.status)
			if !c.seen[answer] && !slices.Contains(elsewhere, answer) {
				t.Errorf("no session shows %s", answer)
			}
		}
	}
}

// TestTableIsComplete holds every schema and parameter that the table of routes names to one that exists.
func TestTableIsComplete(t *testing.T) {
	known, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, row := range routes {
		names := []string{row.request}
		for _, a := range row.answers {
			names = append(names, a.schema)
		}
		for _, name := range names {
			if name != "" && name != checkpointText && known[name] == nil {
				t.Errorf("%s %s: there is no schema %s", row.method, row.path, name)
			}
		}
		for _, name := range row.query {
			if queryParameters[name] == nil {
				t.Errorf("%s %s: there is no parameter %s", row.method, row.path, name)
			}
		}
		if row.id == "" || ids[row.id] || row.handle == nil || row.summary == "" {
			t.Errorf("%s %s: the row is not complete, or its id is not its own", row.method, row.path)
		}
		ids[row.id] = true
		if (row.request != "") != (row.bodyBytes > 0) {
			t.Errorf("%s %s: a body has both a schema and a bound", row.method, row.path)
		}
	}
	decide := newChecker(t).document.Paths.Find("/v1/authorize").Post
	if decide.Parameters.GetByInAndName("header", "Server-Timing") == nil {
		t.Error("the header Server-Timing is not documented")
	}
}

// TestCheckerCatches plants answers that are not as documented: the canary of TestGolden's check.
func TestCheckerCatches(t *testing.T) {
	c := newChecker(t)
	good := `{"status":"ERROR","error_code":"SVC_NOT_FOUND","message":"there is no such hold"}`
	get := "GET /v1/holds/x HTTP/1.1\r\nHost: h\r\n\r\n"
	post := "POST /v1/webhooks HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s"
	hook := `{"id":"3f1e6a4e-95b4-4f0e-8f4b-0123456789ab","url":"https://x","events":["intent.denied"],"created_at":"2026-11-21T12:00:00Z","disabled":false,"secret":"whsec_AAAA"}`
	body := `{"url":"https://x","events":["intent.denied"]}`
	for name, x := range map[string]struct {
		raw    string
		status int
		kind   string
		body   string
		wrong  bool
	}{
		"as documented":          {get, 404, "application/json", good, false},
		"undocumented status":    {get, 418, "application/json", good, true},
		"another media type":     {get, 404, "text/html", good, true},
		"an unknown code":        {get, 404, "application/json", strings.Replace(good, "NOT_FOUND", "GONE", 1), true},
		"an unknown status":      {get, 404, "application/json", strings.Replace(good, "ERROR", "OOPS", 1), true},
		"a missing member":       {get, 404, "application/json", `{"status":"ERROR","error_code":"SVC_NOT_FOUND"}`, true},
		"an extra member":        {get, 404, "application/json", strings.Replace(good, "{", `{"detail":"x",`, 1), true},
		"no JSON":                {get, 404, "application/json", "oops", true},
		"a good webhook":         {fmt.Sprintf(post, len(body), body), 201, "application/json", hook, false},
		"a secret in the list":   {"GET /v1/webhooks HTTP/1.1\r\nHost: h\r\n\r\n", 200, "application/json", "[" + hook + "]", true},
		"an accepted wrong body": {fmt.Sprintf(post, 11, `{"urls":"x"}`), 201, "application/json", hook, true},
		"an accepted query":      {"GET /v1/events?limit=0 HTTP/1.1\r\nHost: h\r\n\r\n", 200, "application/json", `{"events":[],"next":"0","more":false}`, true},
	} {
		response := &http.Response{StatusCode: x.status, Header: http.Header{"Content-Type": {x.kind}}}
		if err := c.problem([]byte(x.raw), response, x.body); (err != nil) != x.wrong {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRPCRequests holds what the document says of a gateway's bodies to what a gateway takes.
func TestRPCRequests(t *testing.T) {
	c := newChecker(t)
	w := newWorld(t)
	config := w.config(w.authority("", false))
	config.Gateway = w.gateway()
	w.serve(config)
	for _, x := range []struct {
		body  string
		taken bool
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`, true},
		{`{"jsonrpc":"2.0","id":"a","method":"eth_chainId","params":[]}`, true},
		{`{"jsonrpc":"2.0","id":null,"method":"eth_call","params":[{"to":"0x00"},"latest"]}`, true},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[` + strings.Repeat("0,", 15) + `0]}`, true},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[` + strings.Repeat("0,", 16) + `0]}`, false},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":{"to":"0x00"}}`, false},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":{}}`, false},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":null}`, false},
		{`{"jsonrpc":"2.0","id":1,"method":"eth_chainId","extra":1}`, false},
		{`{"jsonrpc":"2.0","id":{},"method":"eth_chainId"}`, false},
		{`{"jsonrpc":"2.0","id":1,"method":""}`, false},
		{`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("a", 129) + `"}`, false},
		{`{"jsonrpc":"1.0","id":1,"method":"eth_chainId"}`, false},
		{`{"id":1,"method":"eth_chainId"}`, false},
		{`[{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}]`, false},
	} {
		raw := w.request("POST /rpc/1\nContent-Type: application/json\n\n" + x.body)
		if response, body := w.send(raw); (response.StatusCode == http.StatusOK) != x.taken {
			t.Errorf("%s is answered %d %s", x.body, response.StatusCode, body)
		}
		if err := openapi3filter.ValidateRequest(context.Background(), c.input(raw)); (err == nil) != x.taken {
			t.Errorf("%s: the document says %v", x.body, err)
		}
	}
}

// TestCapabilities holds the registry to what the compiler accepts.
func TestCapabilities(t *testing.T) {
	all := newCapabilities()
	if want := []string{"1.x", "2.0", "2.1", "2.2", "2.3", "2.4"}; !slices.Equal(all.Versions, want) {
		t.Errorf("versions %q, want %q", all.Versions, want)
	}
	for _, key := range []string{"evm.max_transaction_eth", "tool_calls.bash.blocked_commands", "soft_limits.cap.<name>.max_count", "custom.deny_string"} {
		if !slices.Contains(all.Keys, key) {
			t.Errorf("%s is missing", key)
		}
	}
	if document, err := plainJSON(all); err != nil || !strings.Contains(string(document), `"soft_limits.cap.<name>.max_count"`) {
		t.Errorf("%s %v", document, err)
	}
	for _, version := range all.Versions {
		version = strings.ReplaceAll(version, "x", "0") + ".0"
		if _, err := policies.CompilePolicy(grammar.NewSource("policy.md", []byte("version: "+version+"\n\n## tool_calls\nallowed: bash\n"))); err != nil {
			t.Errorf("the compiler refuses version %s: %v", version, err)
		}
	}
	for _, version := range []string{"2.5.0", "3.0.0"} {
		if _, err := policies.CompilePolicy(grammar.NewSource("policy.md", []byte("version: "+version+"\n\n## tool_calls\nallowed: bash\n"))); err == nil {
			t.Errorf("the compiler accepts version %s, which the registry does not have", version)
		}
	}
}

// TestMetadataWithoutCommit is the 503 of a build that is bound to no commit.
func TestMetadataWithoutCommit(t *testing.T) {
	w, c := newWorld(t), newChecker(t)
	config := w.config(w.authority("", false))
	config.Commit = ""
	w.serve(config)
	raw := w.request("GET /v1/service-metadata")
	response, body := w.send(raw)
	c.check(t, raw, response, body)
	if response.StatusCode != 503 || response.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %q: %s", response.StatusCode, response.Header.Get("Cache-Control"), body)
	}
}

// TestConfigIsChecked refuses servers that could not do what their configuration says.
func TestConfigIsChecked(t *testing.T) {
	w := newWorld(t)
	for name, spoil := range map[string]func(*Config){
		"no authority":     func(c *Config) { c.Authority = nil },
		"no log":           func(c *Config) { c.Log = nil },
		"no clock":         func(c *Config) { c.Clock = nil },
		"no randomness":    func(c *Config) { c.Random = nil },
		"empty randomness": func(c *Config) { c.Random = bytes.NewReader(nil) },
		"no sources":       func(c *Config) { c.Stores.Sources, c.Limits = nil, DefaultLimits(service.Test, true) },
		"no registrations": func(c *Config) { c.Stores.Registrations, c.Limits = nil, DefaultLimits(service.Test, true) },
		"no keys":          func(c *Config) { c.Stores.Keys, c.Limits = nil, DefaultLimits(service.Test, true) },
		"no time":          func(c *Config) { c.Limits.Key.Limit = 5 },
		"less than none":   func(c *Config) { c.Limits.Key.Limit = -5 },
	} {
		config := w.config(w.authority("", false))
		spoil(&config)
		if _, err := New(config); err == nil {
			t.Errorf("%s: a server was made", name)
		}
	}
	config := w.config(w.authority("", false))
	config.Stores, config.Metrics = Stores{}, nil
	if _, err := New(config); err != nil {
		t.Errorf("without limits and metrics: %v", err)
	}
}

// TestDocumentsAreStable makes the document twice: maps must not show in it.
func TestDocumentsAreStable(t *testing.T) {
	w := newWorld(t)
	config := w.config(w.authority("", false))
	first, second := w.serve(config), w.serve(config)
	if !bytes.Equal(first.documents.openAPI, second.documents.openAPI) || !json.Valid(first.documents.openAPI) {
		t.Error("the document differs from one start to the next")
	}
}
