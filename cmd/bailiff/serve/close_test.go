package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bailiff/runtime/ledger"
)

// A stuck part of the service ends when the test is over, whatever it is told; or it ends at once.
type stuck struct {
	ledger.Ledger
	name  string
	hangs bool
	over  chan struct{}
	ended *journal
}

// A journal is what ended, in order.
type journal struct {
	mu    sync.Mutex
	names []string
}

func (j *journal) add(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.names = append(j.names, name)
}

func (s *stuck) end() error {
	s.ended.add(s.name)
	if s.hangs {
		<-s.over
	}
	return nil
}

func (s *stuck) Serve(net.Listener) error       { return nil }
func (s *stuck) Shutdown(context.Context) error { return s.end() }
func (s *stuck) Close() error                   { return s.end() }
func (s *stuck) Head(context.Context) (ledger.Head, error) {
	return ledger.Head{}, errors.Join(s.end(), errors.New("a test has no log"))
}
func (s *stuck) Flush(context.Context) error { return nil }
func (s *stuck) Accept() (net.Conn, error)   { return nil, net.ErrClosed }
func (s *stuck) Addr() net.Addr              { return nil }

// TestSecondSignal: a second signal is nothing that the service waits for, though its log takes no line any more.
func TestSecondSignal(t *testing.T) {
	unread, log := io.Pipe()
	defer unread.Close()
	signals, come := context.WithCancel(context.Background())
	come()
	left := make(chan struct{})
	go (&service{log: slog.New(slog.NewTextHandler(log, nil))}).await(signals, func() { close(left) })
	select {
	case <-left:
	case <-time.After(10 * time.Second):
		t.Error("signals are still the service's")
	}
}

// partOf is what the error calls each of the parts that can hang.
var partOf = map[string]string{
	"API": "what clients asked for", "internal": "what clients asked for", "work": "the work in the background",
	"operator": "what the operator asked for", "ledger": "the ledger",
}

// TestCloseWithin has every part of the service hang, each for itself and all together: the service ends within its budget,
// says what did not end, and closes the ledger last in any case, with time left for that.
func TestCloseWithin(t *testing.T) {
	const budget = time.Second
	all := []string{"API", "internal", "work", "operator", "ledger"}
	for _, hanging := range [][]string{nil, {"API"}, {"internal"}, {"work"}, {"operator"}, {"ledger"}, all} {
		t.Run(strings.Join(hanging, ","), func(t *testing.T) {
			t.Parallel()
			over, ended := make(chan struct{}), &journal{}
			defer close(over)
			named := func(name string) *stuck {
				return &stuck{name: name, hangs: slices.Contains(hanging, name), over: over, ended: ended}
			}
			serving := func(name string) server {
				return server{http: named(name), listener: &stuck{name: name + " listener", ended: ended}}
			}
			r := &service{clients: []server{serving("API"), serving("internal")}, operator: []server{serving("operator")}, ledger: named("ledger")}
			ctx, cancel := context.WithCancel(context.Background())
			r.work.cancel = cancel
			r.work.start(ctx, func(context.Context) error { <-ctx.Done(); return named("work").end() }, nil)

			began := time.Now()
			err := r.closeWithin(budget)
			if took := time.Since(began); took > budget+500*time.Millisecond {
				t.Errorf("it took %v of %v", took, budget)
			}
			var want, got []string
			for _, name := range hanging {
				want = append(want, partOf[name]+" did not end in time")
			}
			if err != nil {
				got = strings.Split(err.Error(), "\n")
			}
			slices.Sort(got)
			slices.Sort(want)
			if want = slices.Compact(want); !slices.Equal(got, want) {
				t.Errorf("the error is %q, want %q", got, want)
			}
			ended.mu.Lock()
			defer ended.mu.Unlock()
			for _, name := range all {
				if !slices.Contains(ended.names, name) {
					t.Errorf("%s was never told to end: %v", name, ended.names)
				}
			}
			if last := ended.names[len(ended.names)-1]; last != "ledger" {
				t.Errorf("the last to end is %s: %v", last, ended.names)
			}
		})
	}
}

// TestLastCheckpoint: it is not written beside work that goes on and may be writing it, nor where none had begun.
func TestLastCheckpoint(t *testing.T) {
	for _, x := range []struct {
		started bool
		worked  error
		written bool
	}{{true, nil, true}, {true, errors.New("a task failed"), true}, {true, errNotEnded, false}, {false, nil, false}} {
		ended := &journal{}
		r := &service{ledger: &stuck{name: "head", ended: ended}}
		r.work.started = x.started
		_ = r.lastCheckpoint(t.Context(), x.worked)
		if written := len(ended.names) == 1; written != x.written {
			t.Errorf("%+v: written %v", x, written)
		}
	}
}

// TestStartUnless: a start that does not end is given up when the process is asked to end, and otherwise tells what came of it.
func TestStartUnless(t *testing.T) {
	want, fault := &service{}, errors.New("no start")
	if got, err := startUnless(nil, false, func() (*service, error) { return want, fault }); got != want || !errors.Is(err, fault) {
		t.Errorf("it returns %v, %v", got, err)
	}
	asked, over := make(chan struct{}), make(chan struct{})
	defer close(over)
	close(asked)
	if got, err := startUnless(asked, false, func() (*service, error) { <-over; return want, nil }); got != nil || err == nil {
		t.Errorf("a start that was given up returns %v, %v", got, err)
	}
}
