package console

import (
	"encoding/binary"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"bailiff/runtime/budget"
	"bailiff/runtime/ledger"
)

func newSessions(now *time.Time) *sessions {
	clock := func() time.Time { return *now }
	return &sessions{
		clock: clock, random: rand.NewChaCha8([32]byte{1}), all: map[[32]byte]*session{}, byKey: map[ledger.ID][]*session{},
		budget: budget.New(budget.Options{Name: "console_sessions", Most: maxSessions * sessionBytes, Clock: clock, Log: slog.New(slog.DiscardHandler)}),
	}
}

// TestSessionBounds fills the sessions of a key, and all that there may be.
func TestSessionBounds(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s := newSessions(&now)
	var tokens []string
	for range maxSessionsOfKey + 1 {
		token, err := s.begin(ledger.ID{1}, "")
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	if _, ok := s.find(tokens[0]); ok {
		t.Error("the key's oldest session is open beside as many newer ones as there may be")
	}
	for i, token := range tokens[1:] {
		if key, ok := s.find(token); !ok || key != (ledger.ID{1}) {
			t.Errorf("session %d has ended", i+1)
		}
	}
	for i := maxSessionsOfKey; i < maxSessions; i++ {
		if _, err := s.begin(numbered(i), ""); err != nil {
			t.Fatalf("session %d: %v", i, err)
		}
	}
	if _, err := s.begin(numbered(maxSessions), ""); !errors.Is(err, errNoSession) {
		t.Errorf("one session too many: %v", err)
	}
	if token, err := s.begin(ledger.ID{1}, ""); err != nil {
		t.Errorf("a key's further session, in place of its oldest: %v", err)
	} else if _, ok := s.find(token); !ok {
		t.Error("it is not open")
	}
	now = now.Add(idleSession)
	if _, err := s.begin(numbered(maxSessions), ""); err != nil || len(s.all) != 1 || s.budget.Held() != sessionBytes {
		t.Errorf("when all are over: %v, %d sessions, %d bytes", err, len(s.all), s.budget.Held())
	}
	s.endKey(numbered(maxSessions))
	if len(s.all) != 0 || s.budget.Held() != 0 || len(s.byKey) != 0 {
		t.Errorf("after the last one: %d sessions, %d bytes, %d keys", len(s.all), s.budget.Held(), len(s.byKey))
	}
}

func numbered(n int) (id ledger.ID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n)+2)
	return id
}

// TestSessionWithoutRandomness: no session begins with a token that could be guessed.
func TestSessionWithoutRandomness(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s := newSessions(&now)
	s.random = strings.NewReader("too short")
	if token, err := s.begin(ledger.ID{1}, ""); err == nil || token != "" || len(s.all) != 0 {
		t.Errorf("a session begins with %q, %v", token, err)
	}
}

// TestFields: a page shows every member of a form, those that it does not know included, and in their order.
func TestFields(t *testing.T) {
	type inner struct {
		Allowed []string `json:"allowed"`
		Line    int      `json:"line"`
	}
	got := fields(struct {
		LSN     uint64 `json:"lsn"`
		New     string `json:"aFieldOfTomorrow"`
		Details inner  `json:"details"`
		Many    []int  `json:"many"`
		None    *int   `json:"none"`
	}{1 << 63, "<b>", inner{[]string{"a", "b"}, 4}, []int{1, 2}, nil})
	want := []field{{"lsn", "9223372036854775808"}, {"aFieldOfTomorrow", "<b>"}, {"details.allowed", "a, b"}, {"details.line", "4"}, {"many", "[1,2]"}, {"none", ""}}
	if len(got) != len(want) {
		t.Fatalf("the fields are %q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("field %d is %q, want %q", i, got[i], want[i])
		}
	}
}
