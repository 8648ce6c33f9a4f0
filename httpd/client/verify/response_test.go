package verify

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bailiff/httpd/client"
	"bailiff/runtime/attest"
)

const issuer = "svc-test"

// signer returns keys of a service's own.
func signer(t *testing.T) *attest.Signer {
	t.Helper()
	s, err := attest.LoadOrCreate(t.TempDir(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// listing is a service that lists the keys of a signer.
type listing struct {
	by    *attest.Signer
	asked int
}

func (l *listing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch l.asked++; r.URL.Path {
	case "/.well-known/jwks.json":
		_, _ = w.Write(l.by.JWKS(time.Now()))
	case "/.well-known/svc-pqc-keys.json":
		_, _ = w.Write(l.by.PQCKeys(time.Now()))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// clientOf returns a client of a handler.
func clientOf(t *testing.T, handler http.Handler) *client.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	service, err := client.New(client.Config{URL: server.URL, Key: "sk_svc_x"})
	if err != nil {
		t.Fatal(err)
	}
	return service
}

func policy(now time.Time) *attest.ResponsePolicy {
	return &attest.ResponsePolicy{
		KeyID: "key-1", Epoch: 7, IssuedAt: now.Unix(), Issuer: issuer, PolicyHash: strings.Repeat("ab", 32), Rules: json.RawMessage(`{"version":1}`),
	}
}

func issued(t *testing.T, by *attest.Signer, p *attest.ResponsePolicy) string {
	t.Helper()
	token, err := by.IssueResponsePolicy(p)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// attestation is a good attestation of the issuer.
func attestation(t *testing.T, by *attest.Signer, now time.Time) string {
	t.Helper()
	id, err := attest.NewTokenID(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	token, err := by.Issue(nil, &attest.Claims{
		Issuer: issuer, Subject: "agent", ID: id, IssuedAt: now.Unix(), TxCommit: strings.Repeat("ef", 32), PolicyHash: strings.Repeat("ab", 32),
		Framework: "test", KeyID: "key-1", Kind: attest.KindTool, IntentHash: strings.Repeat("cd", 32), Intent: attest.Intent{Action: "bash"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(token)
}

// TestResponsePolicy verifies good documents, and refuses each kind of bad one.
func TestResponsePolicy(t *testing.T) {
	by, now := signer(t), time.Now()
	keys, err := New(clientOf(t, &listing{by: by}), issuer)
	if err != nil {
		t.Fatal(err)
	}
	good := issued(t, by, policy(now))
	for _, keyID := range []string{"key-1", ""} {
		if p, err := keys.ResponsePolicy(t.Context(), good, keyID, now); err != nil || p.Epoch != 7 || p.KeyID != "key-1" || string(p.Rules) != `{"version":1}` {
			t.Errorf("key %q: %+v, %v", keyID, p, err)
		}
	}
	foreign := policy(now)
	foreign.Issuer = "another"
	parts := strings.Split(good, ".")
	for name, row := range map[string]struct {
		token, key string
		at         time.Time
		want       error
	}{
		"for another key":  {good, "key-2", now, attest.ErrAudience},
		"another issuer":   {issued(t, by, foreign), "key-1", now, attest.ErrIssuer},
		"another signer":   {issued(t, signer(t), policy(now)), "key-1", now, attest.ErrUnknownKey},
		"expired":          {good, "key-1", now.Add(attest.ResponsePolicySeconds * time.Second), attest.ErrExpired},
		"from the future":  {issued(t, by, policy(now.Add(time.Hour))), "key-1", now, attest.ErrNotYetValid},
		"an attestation":   {attestation(t, by, now), "key-1", now, attest.ErrHeader},
		"another payload":  {parts[0] + "." + strings.Split(issued(t, by, policy(now.Add(-time.Second))), ".")[1] + "." + parts[2], "key-1", now, attest.ErrSignature},
		"nothing":          {"", "key-1", now, attest.ErrMalformed},
		"without its typ":  {strings.Split(attestation(t, by, now), ".")[0] + "." + parts[1] + "." + parts[2], "key-1", now, attest.ErrHeader},
		"a signature less": {parts[0] + "." + parts[1] + ".", "key-1", now, attest.ErrSignature},
	} {
		if p, err := keys.ResponsePolicy(t.Context(), row.token, row.key, row.at); !errors.Is(err, row.want) || p != nil {
			t.Errorf("%s: %+v, %v, want %v", name, p, err, row.want)
		}
	}
	want := Expected{TxCommit: strings.Repeat("ef", 32), AnyPolicy: true}
	if _, err := keys.Verify(t.Context(), attestation(t, by, now), want, now); err != nil {
		t.Errorf("a good attestation: %v", err)
	}
	if _, err := keys.Verify(t.Context(), good, want, now); !errors.Is(err, attest.ErrHeader) && !errors.Is(err, attest.ErrTooLarge) {
		t.Errorf("a response policy passes for an attestation: %v", err)
	}
}

// TestResponsePolicyNewKeys fetches the key sets again for a document that is signed with a key which is not in them.
func TestResponsePolicyNewKeys(t *testing.T) {
	first, second, now := signer(t), signer(t), time.Now()
	service := &listing{by: first}
	keys, err := New(clientOf(t, service), issuer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.ResponsePolicy(t.Context(), issued(t, first, policy(now)), "key-1", now); err != nil {
		t.Fatal(err)
	}
	service.by = second
	token := issued(t, second, policy(now))
	if _, err := keys.ResponsePolicy(t.Context(), token, "key-1", now.Add(Pause-1)); !errors.Is(err, attest.ErrUnknownKey) || service.asked != 2 {
		t.Errorf("asked a moment ago: %v, asked %d times", err, service.asked)
	}
	if _, err := keys.ResponsePolicy(t.Context(), token, "key-1", now.Add(Pause)); err != nil || service.asked != 4 {
		t.Errorf("%v, asked %d times", err, service.asked)
	}
	absent, err := New(clientOf(t, http.NotFoundHandler()), issuer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := absent.ResponsePolicy(t.Context(), token, "key-1", now); !errors.Is(err, ErrKeys) {
		t.Errorf("without key sets: %v", err)
	}
}

// TestIssuer reads the issuer's name of the conformance document, without showing it the API key.
func TestIssuer(t *testing.T) {
	for body, want := range map[string]string{
		`{"issuer":"svc-core","spec_version":"1"}`: "svc-core", `{"issuer":""}`: "", `{}`: "", `{"issuer":1}`: "", `svc-core`: "",
	} {
		service := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/.well-known/svc-conformance.json" || r.Header.Get("Authorization") != "" {
				t.Errorf("%s with %q", r.URL, r.Header.Get("Authorization"))
			}
			fmt.Fprint(w, body)
		}))
		if got, err := Issuer(t.Context(), service); got != want || (err == nil) != (want != "") || want == "" && !errors.Is(err, ErrKeys) {
			t.Errorf("%s: %q, %v", body, got, err)
		}
	}
	if got, err := Issuer(t.Context(), clientOf(t, http.NotFoundHandler())); err == nil || got != "" {
		t.Errorf("without the document: %q, %v", got, err)
	}
}
