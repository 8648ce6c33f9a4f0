package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A reply is what a service answered.
type reply struct {
	status int
	header http.Header
	body   []byte
	sent   time.Time // when it was asked, by the service's clock; zero where that is not known
	at     time.Time // by the service's Date header; zero without one
}

// crossed reports whether the border of an hour lies between a time and the answer.
func (r *reply) crossed(since time.Time) bool {
	return !r.at.IsZero() && r.at.Truncate(time.Hour) != since.Truncate(time.Hour)
}

// A wire sends requests to one service, keeps its time, and waits where it says that a rate limit is met.
type wire struct {
	base   string
	client *http.Client

	mutex  sync.Mutex
	met    map[string]int // rate limits that were met, by name
	before time.Duration  // the service's clock is ahead of ours by this at least
	after  time.Duration  // and by less than this
	dated  bool           // before and after are known
	rests  time.Time      // until then nothing is sent, by our clock: a rate limit was met
}

const (
	// margin is how far from the border of an hour the kit stays with its requests, on either side.
	margin = 2 * time.Second
	// maxAnswer bounds the bytes that are read of an answer.
	maxAnswer = 4 << 20
	// maxWait is the longest that the kit waits for a rate limit, and maxTries how often it asks again.
	maxWait, maxTries = 5 * time.Minute, 20
	// requestTimeout is how long one answer may take.
	requestTimeout = 60 * time.Second
)

func newWire(base string, connections int) *wire {
	transport := &http.Transport{MaxIdleConnsPerHost: connections, MaxConnsPerHost: 0, DisableCompression: true}
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &wire{base: strings.TrimSuffix(base, "/"), client: &http.Client{Transport: transport, CheckRedirect: refuse, Timeout: requestTimeout}, met: map[string]int{}}
}

// send sends one request when it is [wire.clear], and again where it was refused by a rate limit that says when to come back. All who
// send wait for that.
func (w *wire) send(ctx context.Context, s step) (*reply, error) {
	for range maxTries {
		now, err := w.clear(ctx)
		if err != nil && !errors.Is(err, errUndated) {
			return nil, err
		}
		answer, err := w.once(ctx, s)
		if err != nil {
			return nil, err
		}
		answer.sent = now
		wait, limited := retryAfter(answer)
		if !limited || s.once {
			return answer, nil
		}
		if w.meet(answer); wait > maxWait {
			return nil, fmt.Errorf("%s %s is refused by a rate limit for another %s: %s", s.method, s.path, wait, limitName(answer))
		}
		w.rest(wait)
	}
	return nil, fmt.Errorf("%s %s met a rate limit %d times in a row", s.method, s.path, maxTries)
}

// rest keeps everything from being sent for a time.
func (w *wire) rest(wait time.Duration) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if until := time.Now().Add(wait); until.After(w.rests) {
		w.rests = until
	}
}

// retryAfter says how long to wait before a request that a rate limit refused is sent again. A 429 without the header is an
// answer like any other.
func retryAfter(r *reply) (time.Duration, bool) {
	seconds, err := strconv.Atoi(r.header.Get("Retry-After"))
	if r.status != http.StatusTooManyRequests || err != nil {
		return 0, false
	}
	return time.Duration(max(seconds, 1)) * time.Second, true
}

// meet notes a rate limit under the name that the service gives it.
func (w *wire) meet(r *reply) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.met[limitName(r)]++
}

// limitName is the first name in the header RateLimit, else the error code.
func limitName(r *reply) string {
	name, _, _ := strings.Cut(r.header.Get("RateLimit"), ";")
	if name = strings.Trim(name, `" `); name != "" {
		return name
	}
	return parse(r.body).text("error_code")
}

func (w *wire) once(ctx context.Context, s step) (*reply, error) {
	request, err := http.NewRequestWithContext(ctx, s.method, w.base+s.path, bytes.NewReader(s.body))
	if err != nil {
		return nil, err
	}
	if s.key != "" {
		request.Header.Set("Authorization", "Bearer "+s.key)
	}
	if len(s.body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range s.header {
		request.Header.Set(name, value)
	}
	sent := time.Now()
	response, err := w.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("no answer to %s %s: %w", s.method, s.path, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("no answer to %s %s: %w", s.method, s.path, err)
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("the answer to %s %s has more than %d bytes", s.method, s.path, maxAnswer)
	}
	answer := &reply{status: response.StatusCode, header: response.Header, body: body}
	if at, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		answer.at = at
		w.date(at, sent, time.Now())
	}
	return answer, nil
}

// date takes over what an answer says of the service's clock: it showed the second at between the two times of ours. A
// clock that was set makes earlier bounds worthless.
func (w *wire) date(at, sent, received time.Time) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	before, after := at.Sub(received), at.Add(time.Second).Sub(sent)
	if w.dated {
		before, after = max(before, w.before), min(after, w.after)
	}
	if before > after {
		before, after = at.Sub(received), at.Add(time.Second).Sub(sent)
	}
	w.before, w.after, w.dated = before, after, true
}

// errUndated is about a service that does not say what time it is.
var errUndated = errors.New("the service sends no Date header, by which the kit keeps its time")

// now is the service's time, as well as it is known.
func (w *wire) now() (time.Time, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if !w.dated {
		return time.Time{}, errUndated
	}
	return time.Now().Add((w.before + w.after) / 2).UTC(), nil
}

// clear waits until no rate limit is known to refuse, and the service's time is far enough from the border of an hour. It returns that
// time, or errUndated at once where it is not known and no limit was met.
func (w *wire) clear(ctx context.Context) (time.Time, error) {
	for {
		now, err := w.now()
		wait := w.resting()
		if err == nil {
			wait = max(wait, toBorder(now))
		}
		if wait <= 0 {
			return now, err
		}
		select {
		case <-time.After(wait + 10*time.Millisecond):
		case <-ctx.Done():
			return now, ctx.Err()
		}
	}
}

// resting is for how long nothing is sent because of a rate limit.
func (w *wire) resting() time.Duration {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return time.Until(w.rests)
}

// toBorder is how long to wait where the border of an hour is near; zero elsewhere.
func toBorder(now time.Time) time.Duration {
	into := now.Sub(now.Truncate(time.Hour))
	switch {
	case into < margin:
		return margin - into
	case into > time.Hour-margin:
		return time.Hour - into + margin
	}
	return 0
}

// limits returns which rate limits were met, and how often.
func (w *wire) limits() map[string]int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	met := map[string]int{}
	for name, n := range w.met {
		met[name] = n
	}
	return met
}
