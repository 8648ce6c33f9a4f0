package mcpproxy

import (
	"net/http"
	"sync"
	"time"
)

// sessions are the conversations that a listener knows of. The zero value works.
type sessions struct {
	mu    sync.Mutex
	known map[sessionKey]*session
	lists map[string]*listing // of requests without a session, by principal
}

// sessionKey names a session: its id counts only together with the credentials that it is used with.
type sessionKey struct{ id, principal string }

const (
	maxSessions = 1024
	listAge     = time.Minute // after which tools are listed again without a notification that they have changed
)

// of returns the session of a request. Requests without a session id are conversations of their own, of one message.
func (all *sessions) of(h *Handler, r *http.Request, m *message) *session {
	key := sessionKey{r.Header.Get(headerSession), principalOf(r)}
	all.mu.Lock()
	defer all.mu.Unlock()
	if key.id == "" || m != nil && m.method == "initialize" {
		return h.guard.newSession(key.principal, all.listOf(key.principal))
	}
	s := all.known[key]
	if s == nil { // the proxy was started anew since
		s = h.guard.newSession(key.principal, &listing{maxAge: listAge})
		all.add(key, s)
	}
	return s
}

// listOf returns the list of tools of requests without a session.
func (all *sessions) listOf(principal string) *listing {
	l := all.lists[principal]
	if l == nil {
		if all.lists == nil || len(all.lists) >= maxSessions {
			all.lists = map[string]*listing{}
		}
		l = &listing{maxAge: listAge}
		all.lists[principal] = l
	}
	return l
}

// put keeps the session that initialize began.
func (all *sessions) put(id string, s *session) {
	all.mu.Lock()
	defer all.mu.Unlock()
	s.tools = &listing{maxAge: listAge}
	all.add(sessionKey{id, s.principal}, s)
}

// add keeps a session, in the place of any other where there are too many: that one is made anew when it is used.
func (all *sessions) add(key sessionKey, s *session) {
	if all.known == nil {
		all.known = map[sessionKey]*session{}
	}
	for old := range all.known {
		if len(all.known) < maxSessions {
			break
		}
		delete(all.known, old)
	}
	all.known[key] = s
}

func (all *sessions) remove(id, principal string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.known, sessionKey{id, principal})
}

// leave notes that no client waits for a request's answer any more.
func (s *session) leave(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.underWay[id]; u != nil {
		u.left = true
	}
}
