package mcpproxy

import (
	"bytes"
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// fromServer judges a message of the server: what goes to the client, and what goes back to the server. Both are nil for
// a message that is dropped.
func (s *session) fromServer(m *message) (toClient, toServer []byte) {
	switch m.kind {
	case isRequest:
		return s.serverRequest(m)
	case isNotification:
		if find(serverNotifications, m.method) == nil {
			s.g.dropped(m, "the server's notification is not in the table")
			return nil, nil
		}
		if m.method == "notifications/tools/list_changed" {
			s.g.toolsChanged()
		}
		shown, r := s.g.inspectedMessage(m)
		if r != nil {
			s.g.dropped(m, r.text())
		}
		return shown, nil
	}
	u := s.answered(m.id)
	if u == nil {
		s.g.dropped(m, "the server answers what it was not asked")
		return nil, nil
	}
	return s.serverResponse(m, u), nil
}

// serverRequest passes a request of the server on, or refuses it.
func (s *session) serverRequest(m *message) (toClient, toServer []byte) {
	row := find(serverRequests, m.method)
	switch {
	case row == nil:
		r := refuse(codeMethod, "the method %.64q is not one that the proxy knows", m.method)
		r.rpc = jsonrpc.CodeMethodNotFound
		return nil, s.g.refused(m, nil, r).answer
	case row.treatment == answering && !s.g.AllowServerRequests:
		r := refuse(codeServerRequest, "the operator does not let this server send %s to clients (--allow-server-requests)", m.method)
		r.rpc = jsonrpc.CodeMethodNotFound
		return nil, s.g.refused(m, nil, r).answer
	}
	shown, withheld := s.g.inspectedMessage(m)
	if withheld != nil {
		withheld.rpc = serverErrorCode
		return nil, s.g.refused(m, nil, withheld).answer
	}
	s.mu.Lock()
	full := len(s.asked) >= maxUnderWay
	if !full {
		s.asked[m.id] = true
	}
	s.mu.Unlock()
	if full {
		r := refuse(codeBusy, "%d requests of the server are under way; at most %d are allowed", maxUnderWay, maxUnderWay)
		r.rpc = serverErrorCode
		return nil, s.g.refused(m, nil, r).answer
	}
	return shown, nil
}

// serverResponse is what the client gets for a response of the server.
func (s *session) serverResponse(m *message, u *underWay) []byte {
	asked := &message{method: u.row.name, rawID: u.rawID}
	refused := func(r *refusal) []byte { return s.g.refused(asked, u, r).answer }
	name, value := "result", m.result
	if m.fault != nil {
		name, value = "error", m.fault
	}
	if m.result != nil && !s.g.AllowServerRequests && asksForInput(m.result) {
		r := refuse(codeServerRequest, "the server asks for input of the client, and the operator does not let it (--allow-server-requests); what it did before is not known")
		return refused(r)
	}
	if u.row.name == "tools/list" && m.result != nil {
		shown, r := s.showTools(m.result, u)
		if r != nil {
			return refused(r)
		}
		value = shown
	}
	if !u.unjudged {
		shown, r := s.g.inspected(u.row.name, u.covered(), value)
		if r != nil {
			return refused(r)
		}
		value = shown
	}
	if u.failOpen && m.result != nil {
		value = tagFailOpen(value)
	}
	if bytes.Equal(value, m.result) || bytes.Equal(value, m.fault) {
		return m.raw
	}
	return respond(m.rawID, name, value)
}

// asksForInput reports whether a result asks the client for something before the request is done. What cannot be told is
// taken for one that does.
func asksForInput(result jsontext.Value) bool {
	members, err := readObject(result)
	if err != nil {
		return result.Kind() == '{'
	}
	for i := range members {
		switch fold(members[i].name) {
		case fold("inputRequests"):
			return true
		case fold("resultType"):
			text, ok := textOf(members, members[i].name)
			if !ok || text != "complete" && text != "task" {
				return true
			}
		}
	}
	return false
}

// fail answers every request that the server will not answer any more.
func (s *session) fail(code refusalCode, why string) (answers [][]byte) {
	s.mu.Lock()
	left := s.underWay
	s.underWay = map[string]*underWay{}
	s.mu.Unlock()
	for _, u := range left {
		u.cancel() // a judge that is still at work says nothing then
		r := refuse(code, "%s; %s was not forwarded", why, u.row.name)
		if u.forwarded {
			r = refuse(code, "%s; whether %s was carried out is not known", why, u.row.name)
		}
		r.status = statusError
		answers = append(answers, s.g.refused(&message{method: u.row.name, rawID: u.rawID}, u, r).answer)
	}
	return answers
}

// listChanged is the notification by which the proxy says that the tools it shows have changed.
func listChanged() []byte {
	return []byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
}

// showTools notes the definitions of a page of tools/list, and leaves out what is hidden.
func (s *session) showTools(result jsontext.Value, u *underWay) (jsontext.Value, *refusal) {
	tools, err := readTools(result)
	if err != nil {
		return nil, refuse(codeServerMalformed, "the server's list of tools cannot be read: %v", err)
	}
	if err := s.g.note(context.Background(), s.tools, u.round, tools); err != nil {
		if s.g.FailOpen && unreachable(err) {
			s.g.Log("the list of tools is shown without a look at its pins (failOpen): %v", err)
			return result, nil // nothing of it was noted, so that the next call lists them again
		}
		return nil, refuseList(err)
	}
	if !s.g.HideDenied {
		return result, nil
	}
	return s.g.hide(result, tools, u)
}

// hideAge bounds for how long a decision to hide or show a tool is used, and for how long clients may keep a filtered list.
const hideAge = time.Minute
