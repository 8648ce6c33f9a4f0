package httpd

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"bailiff/runtime/accounts"
)

// A stating is a world whose operator sends statements, signed with code of the test's own.
type stating struct {
	*world
	documented *checker
}

func newStating(t *testing.T) *stating {
	w := newWorld(t)
	w.serve(w.config(w.authority("version: 2.0.0\n\n## tool_calls\nallowed: bash\n", false)))
	w.createKey("agent", accounts.NewKey{FullGrant: true})
	return &stating{w, newChecker(t)}
}

// send sends a statement and returns the status and the code of the answer.
func (s *stating) send(path string, body any) string {
	s.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	raw := s.request("POST " + path + "\n\n" + string(text))
	response, answer := s.world.send(raw)
	s.documented.check(s.t, raw, response, answer)
	var said struct {
		Code string `json:"error_code"`
	}
	if err := json.Unmarshal([]byte(answer), &said); err != nil {
		s.t.Fatalf("%v: %s", err, answer)
	}
	return strings.TrimSpace(fmt.Sprint(response.StatusCode, " ", said.Code))
}

// halt is a statement about the service, or about a key.
func (s *stating) halt(by ed25519.PrivateKey, issuer, action, key string, serial int) map[string]any {
	at := s.now.Unix()
	text := fmt.Sprintf("svc-freeze-v1\n%s\n%s\n%s\n%s\n%d\n%d", issuer, action, key, "drill", at, serial)
	body := map[string]any{"action": action, "reason": "drill", "serial": serial, "signed_at": at, "operator_signature": base64.RawURLEncoding.EncodeToString(ed25519.Sign(by, []byte(text)))}
	if key != "" {
		body["key_id"] = key
	}
	return body
}

// rotation is a statement that replaces the operator's key.
func (s *stating) rotation(by ed25519.PrivateKey, from, to string, serial int) map[string]any {
	at := s.now.Unix()
	text := fmt.Sprintf("svc-operator-rotation-v1\nsvc-core\n%s\n%s\n%d\n%d", from, to, at, serial)
	return map[string]any{"from": from, "to": to, "serial": serial, "signed_at": at, "operator_signature": base64.RawURLEncoding.EncodeToString(ed25519.Sign(by, []byte(text)))}
}

func (s *stating) wants(what, got, want string) {
	s.t.Helper()
	if got != want {
		s.t.Errorf("%s: %s, want %s", what, got, want)
	}
}

const (
	haltPath     = "/v1/operator/halt"
	rotationPath = "/v1/operator/rotation"
	badStatement = "403 SVC_OPERATOR_STATEMENT_INVALID"
	oldStatement = "409 SVC_OPERATOR_STATEMENT_USED"
)

// with is a body with a member changed, or without it where value is nil.
func with(body map[string]any, name string, value any) map[string]any {
	changed := map[string]any{}
	for k, v := range body {
		changed[k] = v
	}
	if changed[name] = value; value == nil {
		delete(changed, name)
	}
	return changed
}

// TestStatements: what the service's operator has signed is carried out once, from any sender; and nothing else.
func TestStatements(t *testing.T) {
	s := newStating(t)
	key := s.said["agent.id"]
	thaw := s.halt(s.operator, "svc-core", "thaw", "", 5)
	s.wants("a freeze", s.send(haltPath, s.halt(s.operator, "svc-core", "freeze", "", 4)), "200")
	for what, body := range map[string]map[string]any{
		"by another":         s.halt(s.stranger, "svc-core", "thaw", "", 5),
		"of another issuer":  s.halt(s.operator, "svc-other", "thaw", "", 5),
		"another action":     with(thaw, "action", "freeze"),
		"another reason":     with(thaw, "reason", "over"),
		"another serial":     with(thaw, "serial", 6),
		"about a key":        with(thaw, "key_id", key),
		"of an hour ago":     with(thaw, "signed_at", s.now.Unix()-3600),
		"no such action":     with(thaw, "action", "stop"),
		"a short signature":  with(thaw, "operator_signature", "AAAA"),
		"an unsigned freeze": with(s.halt(s.stranger, "svc-core", "freeze", "", 9), "operator_signature", strings.Repeat("A", 86)),
	} {
		s.wants(what, s.send(haltPath, body), badStatement)
	}
	const malformed = "400 SVC_VALIDATION_ERROR_SCHEMA"
	s.wants("without a signature", s.send(haltPath, with(thaw, "operator_signature", nil)), malformed)
	s.wants("without a serial", s.send(haltPath, with(thaw, "serial", nil)), malformed)
	s.wants("a long reason", s.send(haltPath, with(thaw, "reason", strings.Repeat("r", 513))), malformed)
	s.wants("one more member", s.send(haltPath, with(thaw, "force", true)), malformed)
	s.wants("serial 0", s.send(haltPath, s.halt(s.operator, "svc-core", "thaw", "", 0)), malformed)
	s.wants("the serial of before", s.send(haltPath, s.halt(s.operator, "svc-core", "thaw", "", 4)), oldStatement)
	s.wants("a thaw", s.send(haltPath, thaw), "200")
	s.wants("the thaw again", s.send(haltPath, thaw), oldStatement)
	s.now = s.now.Add(time.Minute) // of the rate limit
	s.wants("suspending", s.send(haltPath, s.halt(s.operator, "svc-core", "suspend", key, 1)), "200")
	s.wants("resuming, the serial of before", s.send(haltPath, s.halt(s.operator, "svc-core", "resume", key, 1)), oldStatement)
	s.wants("resuming", s.send(haltPath, s.halt(s.operator, "svc-core", "resume", key, 2)), "200")
	s.wants("a key that is not there", s.send(haltPath, s.halt(s.operator, "svc-core", "suspend", "00000000-0000-4000-8000-000000000000", 1)), "404 SVC_NOT_FOUND")
	s.wants("the same by a stranger", s.send(haltPath, s.halt(s.stranger, "svc-core", "suspend", "00000000-0000-4000-8000-000000000000", 1)), badStatement)

	first, second := s.said["operator"], s.said["stranger"]
	s.wants("a rotation by the new key", s.send(rotationPath, s.rotation(s.stranger, first, second, 1)), badStatement)
	s.wants("a rotation from another key", s.send(rotationPath, s.rotation(s.operator, second, first, 1)), badStatement)
	s.wants("a rotation to another key than was signed", s.send(rotationPath, with(s.rotation(s.operator, first, second, 1), "to", first)), badStatement)
	s.wants("a rotation to what is no key", s.send(rotationPath, s.rotation(s.operator, first, strings.Repeat("A", 43), 1)), malformed)
	s.wants("a rotation", s.send(rotationPath, s.rotation(s.operator, first, second, 7)), "200")
	s.wants("the rotation again", s.send(rotationPath, s.rotation(s.operator, first, second, 8)), badStatement)
	s.wants("a rotation with the serial of before", s.send(rotationPath, s.rotation(s.stranger, second, first, 7)), oldStatement)
	s.wants("a freeze by the key of before", s.send(haltPath, s.halt(s.operator, "svc-core", "freeze", "", 9)), badStatement)
	s.wants("a freeze by the new key", s.send(haltPath, s.halt(s.stranger, "svc-core", "freeze", "", 9)), "200")
	third := base64.RawURLEncoding.EncodeToString(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{9}, ed25519.SeedSize)).Public().(ed25519.PublicKey))
	s.ledger.Close()
	s.wants("without a ledger", s.send(haltPath, s.halt(s.stranger, "svc-core", "thaw", "", 10)), "503 SVC_STORE_UNAVAILABLE")
	s.wants("a rotation without a ledger", s.send(rotationPath, s.rotation(s.stranger, second, third, 11)), "503 SVC_STORE_UNAVAILABLE")
}

// TestStatementsAreLimited: a source sends so many bad statements in a minute, also where no limit is set, and never keeps a good one out.
func TestStatementsAreLimited(t *testing.T) {
	s := newStating(t)
	bad := s.halt(s.stranger, "svc-core", "freeze", "", 1)
	for range statements.Limit {
		s.wants("within the limit", s.send(haltPath, bad), badStatement)
	}
	if got := s.send(rotationPath, s.rotation(s.stranger, "a", "b", 1)); !strings.HasPrefix(got, "429 ") {
		t.Errorf("beyond the limit: %s", got)
	}
	if got := s.send(haltPath, with(bad, "signed_at", "never")); !strings.HasPrefix(got, "429 ") {
		t.Errorf("not a statement, beyond the limit: %s", got)
	}
	freeze := s.halt(s.operator, "svc-core", "freeze", "", 1)
	s.wants("a good one, beyond the limit", s.send(haltPath, freeze), "200")
	s.wants("the same again", s.send(haltPath, freeze), oldStatement)
	for range statementsBeyond {
		if got := s.send(haltPath, bad); !strings.HasPrefix(got, "429 ") {
			t.Fatalf("beyond the limit: %s", got)
		}
	}
	if got := s.send(haltPath, s.halt(s.operator, "svc-core", "thaw", "", 2)); !strings.HasPrefix(got, "429 ") {
		t.Errorf("beyond those that are verified in a second: %s", got)
	}
	s.now = s.now.Add(time.Second)
	s.wants("a second later", s.send(haltPath, s.halt(s.operator, "svc-core", "thaw", "", 2)), "200")
	s.now = s.now.Add(statements.Per)
	s.wants("a bad one a minute later", s.send(haltPath, bad), badStatement)
}

// TestStatementsOfAHostedService: without an operator nothing is carried out.
func TestStatementsOfAHostedService(t *testing.T) {
	w := newWorld(t)
	w.serve(w.config(w.authority("", false)))
	s := &stating{w, newChecker(t)}
	s.wants("without an operator", s.send(haltPath, s.halt(s.operator, "svc-core", "freeze", "", 1)), badStatement)
}
