package authority

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
	"bailiff/vm/errcode"
)

// What compiling and judging may take (decisions, section 8).
const (
	// compileTime is how long compiling a policy that is deployed takes at most.
	compileTime = 500 * time.Millisecond
	// heavyEvaluation is from which effort on a key's requests are judged one at a time.
	heavyEvaluation = 5 * time.Millisecond
	// maxWaiting is how many requests of one key wait for a turn to be judged, and how many texts wait to be loaded. Others
	// are told to come again.
	maxWaiting = 16
	// largeText is from how many bytes on texts are loaded one at a time: what loads for long must not stand in front of
	// what loads in a moment.
	largeText = 32 << 10
	// heavyWait is how long a request waits for its turn to be judged: it keeps its program meanwhile.
	heavyWait = 5 * time.Second
	// maxSought is how many bytes are looked at to name the entries of lists that denied a request, a text once for each entry:
	// some milliseconds. An entry that is not found by then is not named.
	maxSought = 4 << 20
	// largeExplained is from how many bytes on a body that is to be explained takes its key's turn before it is decoded: decoding
	// it takes about as long as judging it does.
	largeExplained = 8 << 10
	// comeAgain is after how long a request that found no turn is to come again.
	comeAgain = time.Second
)

// halfOf is how many processors work of one kind gets at most: half of them, and one at least.
func halfOf() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// turns has work of a key done one after the other, and in all no more of it at once than there are places.
type turns struct {
	places chan struct{}
	shared chan struct{} // places that other kinds of work share; nil for none
	most   int           // of a key's requests that wait
	watch  *watch
	mu     sync.Mutex
	keys   map[ledger.ID]*queue
}

// A queue is a key's work that is under way or waits.
type queue struct {
	turn  chan struct{} // holds a token while the key's work is under way
	count int           // of those under way and waiting
}

func newTurns(places, mostWaiting int, shared chan struct{}, w *watch) *turns {
	return &turns{watch: w, places: make(chan struct{}, places), shared: shared, most: mostWaiting, keys: map[ledger.ID]*queue{}}
}

// take waits for the key's turn and for a place. It is not ok where too many wait already, or ctx ends. What it returns
// gives both back.
func (t *turns) take(ctx context.Context, key ledger.ID) (done func(), ok bool) {
	t.mu.Lock()
	q := t.keys[key]
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1)}
		t.keys[key] = q
	}
	if q.count > t.most {
		t.mu.Unlock()
		t.watch.exceeded()
		return nil, false
	}
	q.count++
	waiting := q.count - 1
	t.mu.Unlock()
	t.watch.use(waiting, t.most)
	var taken []chan struct{}
	done = func() {
		for _, place := range slices.Backward(taken) {
			<-place
		}
		t.leave(key, q)
	}
	for _, place := range []chan struct{}{q.turn, t.places, t.shared} {
		if place == nil {
			continue
		}
		select {
		case place <- struct{}{}:
			taken = append(taken, place)
		case <-ctx.Done():
			if len(taken) > 0 { // not only the key's own work was in the way
				t.watch.exceeded()
			}
			done()
			return nil, false
		}
	}
	return done, true
}

// leave forgets one of a key's queue, and an empty queue.
func (t *turns) leave(key ledger.ID, q *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.count--; q.count == 0 {
		delete(t.keys, key)
	}
}

// underWay returns how many have a place.
func (t *turns) underWay() int { return len(t.places) }

// judgeInTurn judges the intent. Where that may take long, and for an explanation, which runs every rule and some of them
// again, the key's requests take turns, and few are judged at once. The turn of an explanation lasts until the function that
// comes back is called.
func (a *Authority) judgeInTurn(ctx context.Context, r *Request) (done func(), fault *Failure) {
	release := r.turn
	r.turn = nil
	switch {
	case release != nil:
	case !r.Explain && r.policy.effort.Of(len(r.body)) <= heavyEvaluation:
		r.judge()
		return func() {}, nil
	default:
		if release, fault = a.heavyTurn(ctx, r.key.ID); fault != nil {
			return nil, fault
		}
	}
	lasts := false
	defer func() {
		if !lasts { // after a panic as well: the turn would be taken for good
			release()
		}
	}()
	r.judge()
	if lasts = r.Explain; lasts {
		return release, nil
	}
	return func() {}, nil
}

// heavyTurn waits for the key's turn to be judged. What it returns gives the turn back.
func (a *Authority) heavyTurn(ctx context.Context, key ledger.ID) (release func(), fault *Failure) {
	waiting, cancel := context.WithTimeout(ctx, heavyWait)
	defer cancel()
	release, ok := a.heavy.take(waiting, key)
	if !ok {
		return nil, retryable(errcode.EvaluationBusy, "such a request takes long to judge or to explain, and others wait for it; send fewer at once, or a smaller one", comeAgain)
	}
	return release, nil
}

// retryable is a failure that says when to come again.
func retryable(c errcode.Code, message string, after time.Duration) *Failure {
	return &Failure{Code: c, Message: message, RetryAfter: after}
}

// A watch counts and logs how a budget is used: a WARN where four fifths are, and one where it has no room, each at most
// once a minute, since clients can have it happen at will.
type watch struct {
	budget  metrics.Budget
	name    string
	log     *slog.Logger
	clock   clock.Clock
	metrics *metrics.Metrics
	latest  [2]atomic.Int64 // Unix minutes of the last lines
}

// use notes how much is used of how much there is.
func (w *watch) use(used, most int) {
	if most > 0 && used*5 >= most*4 {
		w.warn(0, "a budget is used up to 80 %", "used", used, "limit", most)
	}
}

// exceeded notes that there was no room.
func (w *watch) exceeded() {
	w.metrics.Beyond(w.budget)
	w.warn(1, "a budget is used up; what comes beyond it is refused or dropped")
}

func (w *watch) warn(line int, what string, about ...any) {
	minute := w.clock().Unix() / 60
	if last := w.latest[line].Load(); minute != last && w.latest[line].CompareAndSwap(last, minute) {
		w.log.Warn(what, append([]any{"budget", w.name}, about...)...)
	}
}
