package mcpproxy

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A held call of a client of 2026-07-28 is answered with an input-required result: the client shows its user which hold
// waits, and makes the call again with the requestState that it was given. What the client brings back is only the
// client's word, so the state is authenticated, says what it belongs to, and is good for one use.

const (
	statePrefix = "bailiff1."
	stateAge    = 24 * time.Hour // the default lifetime of a hold
	maxStates   = 4096           // that are not used up
	holdInput   = "bailiff-hold" // the input request's name
)

// resumes are the states that were handed out and are not used up. The zero value works.
type resumes struct {
	mu   sync.Mutex
	key  []byte
	open map[[16]byte]time.Time // when each was handed out, by nonce
}

// issue makes a state that is bound to what; ok is false where too many are not used up.
func (r *resumes) issue(now time.Time, what [32]byte) (state string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		r.key, r.open = make([]byte, 32), map[[16]byte]time.Time{}
		_, _ = rand.Read(r.key) // never fails
	}
	for nonce, at := range r.open {
		if now.Sub(at) > stateAge {
			delete(r.open, nonce)
		}
	}
	if len(r.open) >= maxStates {
		return "", false
	}
	var nonce [16]byte
	_, _ = rand.Read(nonce[:])
	r.open[nonce] = now
	head := binary.BigEndian.AppendUint64(nonce[:], uint64(now.Unix()))
	return statePrefix + base64.RawURLEncoding.EncodeToString(append(head, r.seal(head, what)...)), true
}

// redeem uses a state up, and reports whether it was good for what.
func (r *resumes) redeem(now time.Time, state string, what [32]byte) bool {
	text, err := base64.RawURLEncoding.Strict().DecodeString(strings.TrimPrefix(state, statePrefix))
	if err != nil || len(text) != 16+8+sha256.Size {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	head := text[:24]
	if r.key == nil || !hmac.Equal(text[24:], r.seal(head, what)) {
		return false
	}
	nonce := [16]byte(head)
	at, open := r.open[nonce]
	delete(r.open, nonce)
	age := now.Sub(time.Unix(int64(binary.BigEndian.Uint64(head[16:])), 0)) //nolint:gosec // it is the proxy's own
	return open && now.Sub(at) <= stateAge && age <= stateAge+time.Second
}

func (r *resumes) seal(head []byte, what [32]byte) []byte {
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte("bailiff-request-state-v1\n"))
	mac.Write(head)
	mac.Write(what[:])
	return mac.Sum(nil)
}

// subject is what a state belongs to: the key, the client, the server, and everything that the request asks for.
func (g *Guard) subject(m *message, principal string) ([32]byte, error) {
	asked := jsontext.Value(appendMembers(nil, m.params, "_meta", "requestState", "inputResponses"))
	if err := asked.Canonicalize(); err != nil {
		return [32]byte{}, err
	}
	sum := sha256.New()
	for _, part := range []string{g.Principal, principal, g.Server, m.method, string(asked)} {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return [32]byte(sum.Sum(nil)), nil
}

// inputRequired is the answer to a request that is held, nil where the client cannot take one.
func (g *Guard) inputRequired(m *message, u *underWay, r *refusal) []byte {
	_, resumed := valueOf(m.params, "requestState")
	if !u.modern || resumed || !contains(u.row.members, "requestState") || !canAsk(u.meta) {
		return nil
	}
	what, err := g.subject(m, u.principal)
	if err != nil {
		return nil
	}
	state, ok := g.resumes.issue(g.Now(), what)
	if !ok {
		return nil
	}
	question := &mcp.ElicitParams{Mode: "form", Message: r.text(), RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}}}
	return respond(m.rawID, "result", encode(map[string]any{
		"_meta":         map[string]any{decisionKey: r.parts()},
		"resultType":    "input_required",
		"inputRequests": mcp.InputRequestMap{holdInput: question},
		"requestState":  state,
	}))
}

// canAsk reports whether the client says that it can show its user a form.
func canAsk(meta jsontext.Value) bool {
	members, err := readObject(meta)
	if err != nil {
		return false
	}
	raw, _ := valueOf(members, mcp.MetaKeyClientCapabilities)
	capabilities, err := readObject(raw)
	if err != nil {
		return false
	}
	raw, _ = valueOf(capabilities, "elicitation")
	modes, err := readObject(raw)
	if err != nil {
		return false
	}
	_, form := valueOf(modes, "form")
	return form || len(modes) == 0
}

// resume returns what of a request may be forwarded: the request itself, or, where it brings back a state of the proxy's,
// the request without that and without the answers to the proxy's question, which the server knows nothing of.
func (g *Guard) resume(m *message, u *underWay, principal string) (*message, *refusal) {
	u.principal = principal
	state, ok := textOf(m.params, "requestState")
	if !ok || !strings.HasPrefix(state, statePrefix) {
		return m, nil
	}
	what, err := g.subject(m, principal)
	if err != nil || !g.resumes.redeem(g.Now(), state, what) {
		return nil, refuse(codeState, "the requestState is not valid for this call: it was used, is too old, or belongs to another call; make the call again without it")
	}
	stripped, err := m.without("requestState", "inputResponses")
	if err != nil {
		return nil, refuse(codeUnreadable, "%v", err)
	}
	return stripped, nil
}

// without is the message without members of its params. All other bytes stay as they are.
func (m *message) without(names ...string) (*message, error) {
	members, err := readObject(m.raw)
	if err != nil {
		return nil, err
	}
	text := []byte{'{'}
	for i := range members {
		if i > 0 {
			text = append(text, ',')
		}
		if members[i].name != "params" {
			text = append(text, m.raw[members[i].start:members[i].end]...)
			continue
		}
		text = append(text, `"params":{`...)
		first := true
		for _, p := range m.params {
			if contains(names, p.name) {
				continue
			}
			if !first {
				text = append(text, ',')
			}
			first = false
			text = append(text, members[i].value[p.start:p.end]...)
		}
		text = append(text, '}')
	}
	return readMessage(append(text, '}'), true)
}
