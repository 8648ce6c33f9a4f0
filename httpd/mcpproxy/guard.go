package mcpproxy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Guard judges the messages between clients and one server. Its fields are set before it is used.
type Guard struct {
	Server string // what the operator calls the server: lower case, see [CheckServerName]
	TaskID string // task_id of intents; empty for none
	Decide Decide
	Pins   *Pins            // which definitions of tools are accepted
	Now    func() time.Time // for the age of a requestState
	// Principal is what a requestState is bound to besides the session: the API key.
	Principal string
	// FailOpen forwards what the service could not be asked about, where the tool had been pinned as it is before. Everything
	// else that fails is refused in any case.
	FailOpen bool
	// AllowServerRequests forwards the server's requests to the client, and input-required results.
	AllowServerRequests bool
	// HideDenied leaves out of tools/list what the policy denies whatever the arguments.
	HideDenied bool
	// Rules are the response rules that results are inspected by. Nil for none.
	Rules Rules
	// Log takes a line about each thing that is refused or dropped, without the values of messages.
	Log func(format string, arguments ...any)

	rounds  atomic.Uint64 // how often a server has said that its tools have changed
	resumes resumes
	hidden  hiddenTools
	policy  atomic.Pointer[string] // the hash of the policy that decided last
}

// CheckServerName returns the form of a server's name that intents have, or says what is wrong with the name.
func CheckServerName(name string) (string, error) {
	if name == "" || len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == '.' || r == '*' || r == '/' }) {
		return "", fmt.Errorf("the server's name is %q; allowed: 1 to 64 printable ASCII characters without spaces, dots, stars and slashes", name)
	}
	return strings.ToLower(name), nil
}

// methodCall is the method of calls of tools.
const methodCall = "tools/call"

// Bounds of what one session keeps.
const (
	maxUnderWay  = 256    // requests of the client
	maxListPages = 100    // pages of tools/list that the proxy asks for
	maxListed    = 10_000 // tools of one server
	maxIntent    = 98_000 // bytes of the metadata of an intent; the service takes 100,000 of a request
)

// modernRevision is the first revision without sessions, whose requests say everything about themselves.
const modernRevision = "2026-07-28"

// A session is what the proxy knows of one client's conversation with the server.
type session struct {
	g *Guard
	// principal tells clients apart that share a listener: a hash of their credentials.
	principal string
	tools     *listing

	mu       sync.Mutex
	underWay map[string]*underWay // requests of the client, by id
	asked    map[string]bool      // requests of the server that were forwarded and are not answered yet
}

// A lister asks the server for a page of tools/list.
type lister func(ctx context.Context, params jsontext.Value) (jsontext.Value, error)

// underWay is a request of the client that is not answered yet.
type underWay struct {
	row       *method
	tool      string
	rawID     []byte
	meta      jsontext.Value
	principal string
	modern    bool
	unjudged  bool // it was forwarded without a question to the service
	forwarded bool
	left      bool               // no client waits for the answer, but another stream may still bring it
	failOpen  bool               // it was forwarded without a decision
	round     uint64             // of the guard when it was forwarded
	cancel    context.CancelFunc // ends judging
}

func (g *Guard) newSession(principal string, tools *listing) *session {
	return &session{g: g, principal: principal, tools: tools, underWay: map[string]*underWay{}, asked: map[string]bool{}}
}

// A verdict is what becomes of a message of the client: exactly one of both is set, or none where it is dropped.
type verdict struct {
	forward []byte
	answer  []byte
	refused *refusal // why, where answer is a refusal or nothing is forwarded
}

// fromClient judges a message of the client. It blocks while the service decides. list is for what the server has not
// listed yet.
func (s *session) fromClient(ctx context.Context, m *message, list lister) verdict {
	switch m.kind {
	case isNotification:
		return s.clientNotification(m)
	case isResponse:
		return s.clientResponse(m)
	}
	row := find(clientRequests, m.method)
	if row == nil {
		r := refuse(codeMethod, "the method %.64q is not one that the proxy knows; docs/mcp.md lists those that it forwards", m.method)
		r.rpc = jsonrpc.CodeMethodNotFound
		return s.g.refused(m, nil, r)
	}
	if name, found := otherCase(m.params, row.members); found {
		r := refuse(codeUnreadable, "params has %.64q, which some readers take for another member; write names as the protocol does", name)
		r.rpc = jsonrpc.CodeInvalidParams
		return s.g.refused(m, nil, r)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	u := &underWay{row: row, rawID: m.rawID, cancel: cancel}
	u.meta, _ = valueOf(m.params, "_meta")
	u.modern = revisionIn(u.meta) >= modernRevision
	if r := s.begin(m.id, u); r != nil {
		return s.g.refused(m, u, r)
	}
	forward, r := s.judge(ctx, m, u, list)
	if r == nil {
		r = s.forwarded(ctx, u)
	}
	if r != nil {
		s.end(m.id)
		if ctx.Err() != nil {
			return verdict{refused: r} // the client has taken the request back
		}
		return s.g.refused(m, u, r)
	}
	return verdict{forward: forward}
}

// refused logs a refusal and makes its answer.
func (g *Guard) refused(m *message, u *underWay, r *refusal) verdict {
	g.Log("%.64q: %s %s %s", m.method, r.status, r.code, r.rule)
	modern := u != nil && u.modern
	if r.status == statusPending && u != nil && r.rpc == 0 {
		if answer := g.inputRequired(m, u, r); answer != nil {
			return verdict{answer: answer, refused: r}
		}
	}
	return verdict{answer: r.answer(m, modern), refused: r}
}

// begin notes a request. Its id has to be free.
func (s *session) begin(id string, u *underWay) *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.underWay[id] != nil:
		r := refuse(codeUnreadable, "a request with the id %.64s is under way; give each request an id of its own", u.rawID)
		r.rpc = jsonrpc.CodeInvalidRequest
		return r
	case len(s.underWay) >= maxUnderWay && !s.evict():
		return refuse(codeBusy, "%d requests are under way; at most %d are allowed", len(s.underWay), maxUnderWay)
	}
	s.underWay[id] = u
	return nil
}

// evict makes room by forgetting the requests whose clients have left. A later answer to one is dropped.
func (s *session) evict() (room bool) {
	for id, u := range s.underWay {
		if u.left {
			delete(s.underWay, id)
			room = true
		}
	}
	return room
}

func (s *session) end(id string) *underWay {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.underWay[id]
	delete(s.underWay, id)
	return u
}

// answered returns the request that a response of the server is for, and nil where the server has not seen one of that id.
func (s *session) answered(id string) *underWay {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.underWay[id]
	if u == nil || !u.forwarded {
		return nil
	}
	delete(s.underWay, id)
	return u
}

// forwarded marks a request as one that the server is about to see, unless it was taken back before.
func (s *session) forwarded(ctx context.Context, u *underWay) *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return refuse(codeUnreachable, "the request was cancelled before it was decided")
	}
	u.forwarded, u.round = true, s.g.rounds.Load()
	return nil
}

// judge decides on a request. What it returns without a refusal is what may be forwarded.
func (s *session) judge(ctx context.Context, m *message, u *underWay, list lister) ([]byte, *refusal) {
	if u.row.treatment == passes || u.row.spare != nil && u.row.spare(m.params) {
		u.unjudged = true
		return m.raw, nil
	}
	definition := ""
	if m.method == methodCall {
		tool, ok := textOf(m.params, "name")
		if !ok || tool == "" {
			return nil, refuse(codeName, "the call names no tool; params.name must be a string that is not empty")
		}
		if taken := takenBy(tool); taken != nil {
			return nil, refuse(codeName, "the tool %.64q has the name under which the policy decides on the method %s; rename the tool on the server", tool, taken.name)
		}
		u.tool = tool
		pinned, r := s.pinned(ctx, tool, u, list)
		if r != nil {
			return nil, r
		}
		if r := m.agreeing(pinned.headers); r != nil {
			return nil, r
		}
		definition = pinned.hash
	}
	forward, r := s.g.resume(m, u, s.principal)
	if r != nil {
		return nil, r
	}
	intent, err := s.g.intentOf(forward, u.row, u.tool, definition)
	if err != nil {
		return nil, refuse(codeUnreadable, "%v", err)
	}
	if len(intent.Metadata) > maxIntent {
		return nil, refuse(codeTooLarge, "the call comes to %d bytes for the service; at most %d can be judged: split it, or name a file instead of its content", len(intent.Metadata), maxIntent)
	}
	decision := s.g.Decide(ctx, intent, false)
	u.failOpen = u.failOpen || decision.Unreachable && s.g.FailOpen
	if r := s.g.heed(&decision, m.method); r != nil {
		return nil, r
	}
	return forward.raw, s.g.ready(ctx, intent, &decision)
}

// heed turns a decision into a refusal; nil means that the request may go.
func (g *Guard) heed(d *Decision, method string) *refusal {
	switch {
	case d.Unreachable && g.FailOpen:
		g.Log("%q: forwarded without a decision (failOpen): %s", method, d.Message)
		return nil
	case d.Unreachable:
		r := refuse(codeUnreachable, "%s; the call was not made", d.Message)
		r.status = statusError
		return r
	}
	if d.PolicyHash != "" {
		g.policy.Store(&d.PolicyHash)
	}
	if d.Status == statusAllowed {
		return nil
	}
	return refusedBy(d)
}

// clientNotification passes the notifications of the table on.
func (s *session) clientNotification(m *message) verdict {
	row := find(clientNotifications, m.method)
	if row == nil {
		return verdict{refused: s.g.dropped(m, "the client's notification is not in the table")}
	}
	for i := range m.params {
		if !contains(row.members, m.params[i].name) && m.params[i].name != "_meta" {
			return verdict{refused: s.g.dropped(m, "the client's notification has a member that it may not have")}
		}
	}
	if m.method == "notifications/cancelled" && !s.cancel(m) {
		return verdict{refused: s.g.dropped(m, "it cancels nothing that the server has seen")}
	}
	return verdict{forward: m.raw}
}

// cancel ends the judging of the request that a cancellation names, and reports whether the server has seen it.
func (s *session) cancel(m *message) bool {
	raw, _ := valueOf(m.params, "requestId")
	id, _ := idKey(raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.underWay[id]
	if u == nil || u.row.name == "initialize" {
		return false
	}
	if u.forwarded {
		delete(s.underWay, id) // the server need not answer it any more, and the client does not wait
	} else {
		u.cancel()
	}
	return u.forwarded
}

// clientResponse passes on what answers a request that was forwarded to the client.
func (s *session) clientResponse(m *message) verdict {
	s.mu.Lock()
	known := s.asked[m.id]
	delete(s.asked, m.id)
	s.mu.Unlock()
	if !known {
		return verdict{refused: s.g.dropped(m, "the client answers what it was not asked")}
	}
	return verdict{forward: m.raw}
}

// dropped logs a message that goes nowhere.
func (g *Guard) dropped(m *message, why string) *refusal {
	g.Log("dropped %.64q: %s", m.method, why)
	return refuse(codeMethod, "%s", why)
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// revisionIn is the revision that a request says it is of; empty before 2026-07-28.
func revisionIn(meta jsontext.Value) string {
	members, err := readObject(meta)
	if err != nil {
		return ""
	}
	revision, _ := textOf(members, mcp.MetaKeyProtocolVersion)
	return revision
}

// unreadable is the refusal of a message that could not be read.
func unreadable(err error) *refusal {
	r := refuse(codeUnreadable, "%v", err)
	r.rpc = jsonrpc.CodeParseError
	if errors.Is(err, errBatch) {
		r.rpc = jsonrpc.CodeInvalidRequest
	}
	return r
}
