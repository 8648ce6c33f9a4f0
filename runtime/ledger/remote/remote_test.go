package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"bailiff/fuzz/ledgertest"
	"bailiff/fuzz/ledgertest/suite"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
)

// here are the methods that are asked of the process itself.
type here interface {
	BindDefault(context.Context, *ledger.DefaultPolicy) (ledger.BoundDefault, error)
	OutdatedHolds() (int, error)
	PendingHolds() (int, int64, error)
	ExpireHolds(context.Context, int64, int) (int, error)
	Approvers(context.Context) ([]ledger.Approver, uint64, error)
	CrowdedKeys(int64) ([]ledger.KeyGroups, error)
	Frozen() ledger.HaltState
	Operators() ledger.Operators
	Latest(context.Context) (int64, error)
	SetClock(context.Context, int64) error
	ledger.Outbox
	Retain(context.Context, *ledger.Retention) (*ledger.Drop, error)
	ReadBase(uint64, int64, int) ([]byte, []byte, int64, error)
	Flush(context.Context) error
	Health() error
	Close() error
}

// An asked is a ledger that is asked from another process, as far as one is.
type asked struct {
	here
	*Ledger
	confirms *confirms
	log      *memory.Log
}

// confirms is a ledger whose ownership is asked for, or lost.
type confirms struct {
	*commit.Ledger
	lost bool
}

func (c *confirms) Mark() uint64 { return 7 }

func (c *confirms) Confirm(mark uint64) error {
	if mark != 7 || c.lost {
		return fmt.Errorf("%w: another instance decides", ledger.ErrUnavailable)
	}
	return nil
}

func (a *asked) LogOf(ledger.ID) ledger.Log { return a.Ledger }

func (a *asked) LookupKey(hash [32]byte) (*ledger.Key, bool) {
	key, ok, err := a.Ledger.LookupKey(context.Background(), hash)
	return key, ok && err == nil
}

func (a *asked) LookupKeyID(id ledger.ID) (*ledger.Key, bool) {
	key, ok, err := a.Ledger.LookupKeyID(context.Background(), id)
	return key, ok && err == nil
}

func open(t *testing.T, log *memory.Log) *asked {
	t.Helper()
	l, err := commit.Open(log, commit.Options{Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	owned := &confirms{Ledger: l}
	return &asked{l, New(func(ctx context.Context, question []byte) ([]byte, error) {
		return Answer(ctx, owned, bytes.Clone(question)), ctx.Err()
	}), owned, log}
}

// TestConformance runs the suite of every ledger over questions and answers.
func TestConformance(t *testing.T) {
	suite.Run(t, suite.Suite{
		Open: func(t *testing.T) ledger.Ledger { return open(t, memory.NewLog()) },
		Reopen: func(t *testing.T, l ledger.Ledger) ledger.Ledger {
			a := l.(*asked)
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, a.log)
		},
	})
}

// TestMethods: each method of a Ledger asks one of its name that has the same arguments, and no other can be asked for.
func TestMethods(t *testing.T) {
	of, here := reflect.TypeFor[*Ledger](), reflect.TypeFor[methods]()
	in := func(f reflect.Type) (all []string) {
		for i := 1; i < f.NumIn(); i++ {
			if f.In(i) != reflect.TypeFor[context.Context]() {
				all = append(all, f.In(i).String())
			}
		}
		return all
	}
	for i := range of.NumMethod() {
		asks := of.Method(i)
		m, ok := here.MethodByName(asks.Name)
		if !ok || m.Type.In(1) != reflect.TypeFor[context.Context]() || m.Type.Out(m.Type.NumOut()-1) != reflect.TypeFor[error]() {
			t.Errorf("%s can't be answered: %v", asks.Name, m.Type)
			continue
		}
		if !reflect.DeepEqual(in(asks.Type), in(m.Type)) {
			t.Errorf("%s asks with %v, and is answered with %v", asks.Name, in(asks.Type), in(m.Type))
		}
	}
	a := open(t, memory.NewLog())
	for name, arguments := range map[string][]any{"Submit": {(*ledger.Plan)(nil)}, "Deploy": {nil}, "UseOnce": {3}, "Policy": {}} {
		if err := a.ask(t.Context(), name, nil, arguments...); !errors.Is(err, ledger.ErrUnavailable) {
			t.Errorf("%s with %v: %v", name, arguments, err)
		}
	}
	for _, name := range []string{"Close", "Retain", "", "l"} {
		if err := a.ask(t.Context(), name, nil); !errors.Is(err, ledger.ErrUnavailable) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestFaults: an error is the same on the other side, with its numbers; without an answer, or with one that can't be read, it is unknown
// whether a record was kept; and an answer of a process that has lost its log is not told.
func TestFaults(t *testing.T) {
	var serial *ledger.SerialError
	sent := newFault(fmt.Errorf("x: %w", &ledger.SerialError{Serial: 3, Latest: 4}))
	b, err := cbor.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	got := new(fault)
	if err := reading.Unmarshal(b, got); err != nil || !errors.As(got, &serial) || serial.Latest != 4 || !errors.Is(got, ledger.ErrRollback) || errors.Is(got, ledger.ErrUsed) {
		t.Errorf("a serial: %v, %v", got, err)
	}
	a := open(t, memory.NewLog())
	key := ledgertest.NewKey(1)
	if err := a.CreateKey(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	for what, call := range map[string]Call{
		"no answer": func(context.Context, []byte) ([]byte, error) { return nil, errors.New("planted: cut") },
		"half of an answer": func(ctx context.Context, q []byte) ([]byte, error) {
			answer := Answer(ctx, a.confirms, q)
			return answer[:len(answer)/2], nil
		},
		"nothing":         func(context.Context, []byte) ([]byte, error) { return nil, nil },
		"an empty answer": func(context.Context, []byte) ([]byte, error) { return []byte{0xa0}, nil },
	} {
		if _, err := New(call).RevokeKey(t.Context(), ledgertest.ID('k', 9), 1); !errors.Is(err, ledger.ErrUnknown) || errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
		if out := New(call).Peek(&ledger.Plan{}); out.Result != ledger.Unknown {
			t.Errorf("%s: %+v", what, out)
		}
	}
	refused := New(func(context.Context, []byte) ([]byte, error) {
		return nil, fmt.Errorf("%w: no connection", ledger.ErrUnavailable)
	})
	if err := refused.CreateKey(t.Context(), key); !errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ledger.ErrUnknown) {
		t.Errorf("nothing was sent: %v", err)
	}
	a.confirms.lost = true
	if _, err := a.RevokeKey(t.Context(), key.ID, 1); !errors.Is(err, ledger.ErrUnknown) || errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("a change by a process that has lost its log: %v", err)
	}
	if _, err := a.RevokeKey(t.Context(), ledgertest.ID('k', 9), 1); !errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("a refusal by a process that has lost its log: %v", err)
	}
	if _, _, err := a.Ledger.LookupKey(t.Context(), key.Hash); !errors.Is(err, ledger.ErrUnavailable) || !strings.Contains(err.Error(), "another instance decides") {
		t.Errorf("a process that has lost its log: %v", err)
	}
}

// TestFaultsAreAll: each error of package ledger that a question can have is told on the other side.
func TestFaultsAreAll(t *testing.T) {
	here := map[string]bool{"ErrLocked": true, "ErrNotRetained": true} // of opening a log, and of retention
	files, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`(?m)^(?:var |\t)(Err\w+) += `).FindAllStringSubmatch(string(text), -1) {
			if !here[found[1]] {
				known++
			}
		}
	}
	if known != len(faults) {
		t.Errorf("package ledger has %d such errors, and %d are told", known, len(faults))
	}
}
