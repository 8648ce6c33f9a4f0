package conform

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// TestRest: after one request was refused by a rate limit, no other is sent until it is over.
func TestRest(t *testing.T) {
	var asked atomic.Int64
	refused := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			w.Header().Set("Retry-After", "60")
			w.Header().Set("RateLimit", `"planted";r=0;t=60`)
			w.WriteHeader(http.StatusTooManyRequests)
		}
		refused <- struct{}{}
	}))
	defer server.Close()
	w := newWire(server.URL, 2)
	ctx, end := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := w.send(ctx, get("/first", "", ""))
		first <- err
	}()
	<-refused
	for w.resting() <= 0 {
		time.Sleep(time.Millisecond)
	}
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := w.send(soon, get("/second", "", "")); !errors.Is(err, context.DeadlineExceeded) || asked.Load() != 1 {
		t.Errorf("another request ends with %v; the service was asked %d times, expected once", err, asked.Load())
	}
	end()
	if err := <-first; !errors.Is(err, context.Canceled) || w.limits()["planted"] != 1 {
		t.Errorf("the request that was refused ends with %v; limits that were met: %v", err, w.limits())
	}
}

// TestToBorder keeps requests two seconds from the border of an hour.
func TestToBorder(t *testing.T) {
	hour := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for into, wait := range map[time.Duration]time.Duration{
		0: 2 * time.Second, 1500 * time.Millisecond: 500 * time.Millisecond, 2 * time.Second: 0, 30 * time.Minute: 0,
		time.Hour - 2*time.Second: 0, time.Hour - time.Second: 3 * time.Second,
	} {
		if got := toBorder(hour.Add(into)); got != wait {
			t.Errorf("%s into the hour it waits for %s, expected %s", into, got, wait)
		}
	}
}

// TestClear: every request waits for the border of an hour, by the service's clock.
func TestClear(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Date", "Tue, 01 Jan 2030 11:59:59 GMT")
	}))
	defer server.Close()
	w := newWire(server.URL, 1)
	if answer, err := w.send(t.Context(), get("/", "", "")); err != nil || !answer.sent.IsZero() {
		t.Fatalf("the first request, of which the time is not known: %+v, %v", answer, err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := w.send(soon, get("/", "", "")); !errors.Is(err, context.DeadlineExceeded) || asked.Load() != 1 {
		t.Errorf("a request at the border of an hour ends with %v; the service was asked %d times, expected once", err, asked.Load())
	}
}
