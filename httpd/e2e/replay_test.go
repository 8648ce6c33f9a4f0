package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

// claimsOf returns the claims of an attestation without its post-quantum signature, which is another one each time.
func claimsOf(t *testing.T, token string) map[string]any {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("%q is not an attestation", token)
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string]any{}
	if err := json.Unmarshal(raw, &claims); err != nil {
		t.Fatal(err)
	}
	delete(claims, "pqc")
	return claims
}

// TestReplayAfterCrash asks again, after the service was killed, for an answer that may have been lost: it is the same decision, the
// limit counts it once, and the attestation can be used once.
func TestReplayAfterCrash(t *testing.T) {
	t.Parallel()
	s := newSite(t, strings.Replace(toolPolicy, "%d", "1", 1))
	key := s.apiKey()
	body, _ := bash("task", "ls", 1)
	body = strings.Replace(body, `"intent"`, `"request_nonce":"n-1","intent"`, 1)
	service := s.start()
	first := service.ask("/v1/authorize", key, body)
	if first.Status != "ALLOWED" || bytes.Contains(first.Raw, []byte("replayed")) {
		t.Fatalf("%s", first.Raw)
	}
	service.kill()
	service = s.start()
	again := service.ask("/v1/authorize", key, body)
	if again.Status != "ALLOWED" || !bytes.Contains(again.Raw, []byte(`"request_nonce":"n-1","replayed":true`)) {
		t.Fatalf("after the service was killed: %s", again.Raw)
	}
	if one, other := claimsOf(t, first.Attestation), claimsOf(t, again.Attestation); one["jti"] == nil || len(one) != len(other) ||
		one["jti"] != other["jti"] || one["iat"] != other["iat"] || one["exp"] != other["exp"] || one["intentHash"] != other["intentHash"] {
		t.Errorf("claims %v, first %v", other, one)
	}
	if other := service.ask("/v1/authorize", key, strings.Replace(body, "n-1", "n-2", 1)); other.Code != "SVC_LOOP_LIMIT_EXCEEDED" {
		t.Errorf("another nonce: %s", other.Raw)
	}
}
