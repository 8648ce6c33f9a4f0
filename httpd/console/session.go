package console

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"time"

	"bailiff/runtime/budget"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
)

// Bounds of sessions.
const (
	maxSessions       = 10_000           // in all
	maxSessionsOfKey  = 16               // a further sign-in ends the key's oldest session
	idleSession       = 30 * time.Minute // a session ends after so long without a request
	longestSession    = 12 * time.Hour   // and so long after sign-in in any case
	sessionTokenBytes = 32
	// sessionBytes is about what a session takes, with its places in both maps.
	sessionBytes = 1024
)

// errNoSession says that there is no room for a session.
var errNoSession = errors.New("too many sessions are open; sign in again later")

// sessions are the sessions of the console, in memory: a restart ends them. Of a session's token only the hash is kept.
type sessions struct {
	clock  clock.Clock
	random io.Reader
	budget *budget.Budget

	mu    sync.Mutex
	all   map[[sha256.Size]byte]*session
	byKey map[ledger.ID][]*session // oldest first
}

// A session is a sign-in with an API key.
type session struct {
	hash    [sha256.Size]byte
	key     ledger.ID
	created time.Time
	used    time.Time
	chosen  ledger.ID // whose records the operator looks at
	drawn   *hours    // of the last overview; nil before it
}

func (s *session) over(now time.Time) bool {
	return now.Sub(s.used) >= idleSession || now.Sub(s.created) >= longestSession || now.Before(s.created.Add(-time.Minute))
}

// begin opens a session for a key and returns its token, which is never returned again. The session is found by the token with
// the user behind it.
func (s *sessions) begin(key ledger.ID, user string) (token string, err error) {
	var raw [sessionTokenBytes]byte
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := io.ReadFull(s.random, raw[:]); err != nil {
		return "", fmt.Errorf("reading random bytes: %w", err)
	}
	token = base64.RawURLEncoding.EncodeToString(raw[:])
	now := s.clock()
	if len(s.all) >= maxSessions {
		s.sweep(now)
	}
	if of := s.byKey[key]; len(of) >= maxSessionsOfKey {
		s.remove(of[0])
	}
	if s.budget.Take(netip.Addr{}, sessionBytes) != nil {
		return "", errNoSession
	}
	one := &session{hash: sha256.Sum256([]byte(token + user)), key: key, created: now, used: now}
	s.all[one.hash] = one
	s.byKey[key] = append(s.byKey[key], one)
	return token, nil
}

// find returns the key of a token's session, and notes the use.
func (s *sessions) find(token string) (key ledger.ID, ok bool) { return s.look(token, true) }

// peek returns the key of a token's session.
func (s *sessions) peek(token string) (key ledger.ID, ok bool) { return s.look(token, false) }

func (s *sessions) look(token string, use bool) (key ledger.ID, ok bool) {
	hash := sha256.Sum256([]byte(token))
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[hash]
	if one == nil {
		return key, false
	}
	now := s.clock()
	if one.over(now) {
		s.remove(one)
		return key, false
	}
	if use {
		one.used = now
	}
	return one.key, true
}

// show notes what the overview of a token's session has counted.
func (s *sessions) show(token string, h hours) {
	hash := sha256.Sum256([]byte(token))
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.all[hash]; one != nil {
		one.drawn = &h
	}
}

// shown returns what the last overview of a token's session has counted.
func (s *sessions) shown(token string) (h hours, ok bool) {
	hash := sha256.Sum256([]byte(token))
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[hash]
	if one == nil || one.drawn == nil {
		return h, false
	}
	return *one.drawn, true
}

// choose has an operator's session look at a key, if there is one.
func (s *sessions) choose(token string, key ledger.ID) {
	hash := sha256.Sum256([]byte(token))
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.all[hash]; one != nil {
		one.chosen, one.drawn = key, nil
	}
}

// chosen returns the key that an operator's session looks at; zero for none.
func (s *sessions) chosen(token string) ledger.ID {
	hash := sha256.Sum256([]byte(token))
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.all[hash]; one != nil {
		return one.chosen
	}
	return ledger.ID{}
}

// end ends the session of a token, if there is one.
func (s *sessions) end(token string) {
	hash := sha256.Sum256([]byte(token))
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.all[hash]; one != nil {
		s.remove(one)
	}
}

// count returns how many there are, those included that are over and were not asked for since.
func (s *sessions) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// endKey ends all sessions of a key.
func (s *sessions) endKey(key ledger.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.byKey[key]) > 0 {
		s.remove(s.byKey[key][0])
	}
}

// sweep removes the sessions that are over. The caller has the lock.
func (s *sessions) sweep(now time.Time) {
	for _, one := range s.all {
		if one.over(now) {
			s.remove(one)
		}
	}
}

// remove removes a session. The caller has the lock.
func (s *sessions) remove(one *session) {
	delete(s.all, one.hash)
	of := s.byKey[one.key]
	for i := range of {
		if of[i] == one {
			of = append(of[:i:i], of[i+1:]...)
			break
		}
	}
	if len(of) == 0 {
		delete(s.byKey, one.key)
	} else {
		s.byKey[one.key] = of
	}
	s.budget.Give(netip.Addr{}, sessionBytes)
}
