package httpd

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bailiff/httpd/peers"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/ratelimit"
)

const asked = `{"framework":"custom","agentId":"a-1","request_nonce":%q,"txCommit":"b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c","intent":{"action":"http","url":"https://shop.example/a","method":"GET"}}`

const shopPolicy = "version: 2.0.0\n\n## tool_calls\nallowed: http\n\n## custom\nallow_only.host: shop.example\n"

// verified is the claims of an attestation.
func (w *world) verified(token string) *attest.Claims {
	w.t.Helper()
	verifier, err := w.signer.Verifier("svc-core")
	if err != nil {
		w.t.Fatal(err)
	}
	claims, err := verifier.Verify(token, w.now)
	if err != nil {
		w.t.Fatalf("%q: %v", token, err)
	}
	return claims
}

// attested asks for an authorization, and returns what the answer says beside its attestation, and the claims of that.
func (w *world) attested(target, nonce, header string) (body string, claims *attest.Claims) {
	w.t.Helper()
	response, body := w.send(w.request("POST " + target + "\nAuthorization: Bearer $agent\n" + header + "\n" + fmt.Sprintf(asked, nonce)))
	found := token.FindStringSubmatch(body)
	if response.StatusCode != 200 || found == nil || response.Header.Get(peers.Claims) != "" {
		w.t.Fatalf("%s: %d %v %s", target, response.StatusCode, response.Header, body)
	}
	return strings.Replace(body, found[1], "", 1), w.verified(found[1])
}

// TestPassedSigned: an attestation is signed where the request came to, and by the instance that decides where the other one has other keys
// or none. The same request gets the same claims again, and the rest of the answer is the same either way.
func TestPassedSigned(t *testing.T) {
	w := newWorld(t)
	w.passed = true
	config := w.config(w.authority(shopPolicy, false))
	config.EnvoyAuthorizes = true
	w.serve(config)
	w.createKey("agent", accounts.NewKey{Scopes: []string{"authorize"}})
	forged := peers.Signs + ": " + w.signer.Pair() + "\n" + peers.Claims + ": e30\n"
	_, first := w.attested("/v1/authorize", "n-1", forged)
	again, second := w.attested("/v1/authorize", "n-1", "")
	if first.ID != second.ID || !strings.Contains(again, `"replayed":true`) {
		t.Errorf("asked again: %v, then %v, %s", first.ID, second.ID, again)
	}
	explained, _ := w.attested("/v1/authorize?explain=true", "n-2", "")
	for _, method := range []string{"GET", "HEAD"} {
		response, _ := w.send(w.request(method + " /envoy/https/a\nAuthorization: Bearer $agent\nHost: shop.example\n"))
		if response.StatusCode != 400 && response.StatusCode != 403 { // two Host headers
			t.Errorf("%s with two hosts: %d", method, response.StatusCode)
		}
		raw := bytes.Replace(w.request(method+" /envoy/https/a\nAuthorization: Bearer $agent\n"), []byte("Host: localhost"), []byte("Host: shop.example"), 1)
		if response, _ = w.send(raw); response.StatusCode != 200 || w.verified(response.Header.Get(attestationHeader)).Intent.Action != "http" {
			t.Errorf("Envoy: %d %v", response.StatusCode, response.Header)
		}
	}
	if n := w.passing.signed.Load(); n != 5 {
		t.Errorf("%d attestations were signed where the requests came to, and 5 were asked for", n)
	}
	other, err := attest.LoadOrCreate(t.TempDir(), w.random)
	if err != nil {
		t.Fatal(err)
	}
	w.passing.server.config.Pass.Pair = other.Pair()
	w.attested("/v1/authorize", "n-3", "")
	w.passing.server.config.Pass.Sign = nil
	alone, _ := w.attested("/v1/authorize?explain=true", "n-2", "")
	if n := w.passing.signed.Load(); n != 5 || strings.Replace(alone, `,"replayed":true`, "", 1) != explained {
		t.Errorf("with other keys, or none: %d signed\n%s\n%s", n, explained, alone)
	}
}

// TestPassedForged: a client that says to the listener for clients what an instance says that passes a request on is not believed: its answer has
// an attestation and no claims, and it counts as who it is.
func TestPassedForged(t *testing.T) {
	w := newWorld(t)
	config := w.config(w.authority(shopPolicy, false))
	config.Limits.IP = ratelimit.Window{Limit: 2, Per: time.Minute}
	w.serve(config)
	w.createKey("agent", accounts.NewKey{Scopes: []string{"authorize"}})
	forged := func(from string) string {
		return peers.Signs + ": " + w.signer.Pair() + "\n" + peers.Claims + ": e30\n" + peers.TLS + ": 1\n" + peers.From + ": " + from + "\n"
	}
	for _, from := range []string{"192.0.2.1:1", "192.0.2.2:2"} {
		w.attested("/v1/authorize", from, forged(from))
	}
	if response, body := w.send(w.request("POST /v1/authorize\n" + forged("192.0.2.3:3") + "\n{}")); response.StatusCode != 429 {
		t.Errorf("a client counts as three: %d %s", response.StatusCode, body)
	}
}

// TestPassedUnsigned: claims that are not whole, not in their one form, or of an answer without a place for them are not signed, and the
// answer that no client may act on is not told.
func TestPassedUnsigned(t *testing.T) {
	w := newWorld(t)
	claims := string(attest.AppendClaims(nil, &attest.Claims{
		Issuer: "svc-core", Subject: "a", ID: attest.TokenID{1}, IssuedAt: w.now.Unix(), TxCommit: strings.Repeat("0", 64), PolicyHash: strings.Repeat("0", 64),
		Framework: "custom", KeyID: "00000000-0000-4000-8000-000000000000", Kind: attest.KindTool, IntentHash: strings.Repeat("0", 64), Intent: attest.Intent{Action: "http"},
	}))
	body, encode := string(unattested)+"}", base64.RawURLEncoding.EncodeToString
	for _, row := range []struct {
		name, claims, body string
		status             int
	}{
		{"as they are to be", encode([]byte(claims)), body, 200},
		{"with another place", encode([]byte(claims)), strings.Replace(body, "null", `"x"`, 1), 500},
		{"of a denial", encode([]byte(claims)), `{"status":"DENIED","intent_attestation":null}`, 500},
		{"without a length", encode([]byte(claims)), body, 500},
		{"cut off", encode([]byte(claims[:len(claims)-1])), body, 500},
		{"in another form", encode([]byte(" " + claims)), body, 500},
		{"of no kind", encode([]byte(strings.Replace(claims, `"kind":"tool"`, `"kind":"food"`, 1))), body, 500},
		{"in no base64", "!", body, 500},
	} {
		owner := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, _ *http.Request) {
			to.Header().Set(peers.Claims, row.claims)
			if row.name == "without a length" {
				to.(http.Flusher).Flush()
			}
			_, _ = to.Write([]byte(row.body))
		}))
		p := newPassing(t, owner.Listener.Addr().String(), w.signer)
		response, body := p.say(t, "POST /v1/authorize HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
		if response.StatusCode != row.status || strings.Contains(body, "ALLOWED") != (row.status == 200) || response.Header.Get(peers.Claims) != "" {
			t.Errorf("%s: %d %s", row.name, response.StatusCode, body)
		}
		owner.Close()
	}
}
