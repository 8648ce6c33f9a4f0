package main

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// A footing is what a service uses while it has no requests.
type footing struct {
	goroutines int64
	heap       int64 // bytes in use, after a garbage collection
	resident   int64 // bytes
}

// What an attack may leave behind.
const (
	// moreGoroutines is how many goroutines more there may be afterwards: the service starts some when it first needs them.
	moreGoroutines = 24
	// moreHeap is how much more of the heap may be in use: programs are kept for the next request, 64 MiB of them, and so
	// are counters, blocks of tables and buffers.
	moreHeap = 160 << 20
)

var (
	goroutinesMetric = regexp.MustCompile(`(?m)^go_goroutines (\S+)$`)
	heapMetric       = regexp.MustCompile(`(?m)^go_memstats_heap_inuse_bytes (\S+)$`)
	residentMetric   = regexp.MustCompile(`(?m)^process_resident_memory_bytes (\S+)$`)
)

// footing reads what the service uses.
func (s *service) footing() (f footing, err error) {
	// It collects garbage first (net/http/pprof).
	if _, err := call(plainClient, http.MethodGet, "http://"+s.profiler+"/debug/pprof/heap?gc=1", "", nil); err != nil {
		return f, err
	}
	text, err := call(plainClient, http.MethodGet, "http://"+s.monitor+"/metrics", "", nil)
	if err != nil {
		return f, err
	}
	for _, row := range []struct {
		metric *regexp.Regexp
		to     *int64
	}{{goroutinesMetric, &f.goroutines}, {heapMetric, &f.heap}, {residentMetric, &f.resident}} {
		found := row.metric.FindSubmatch(text)
		if found == nil {
			return f, fmt.Errorf("the metrics have no %s", row.metric)
		}
		value, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			return f, err
		}
		*row.to = int64(value)
	}
	return f, nil
}

// over says what f uses beyond what may be left of an attack before which the service used idle.
func (f footing) over(idle footing) error {
	switch {
	case f.goroutines > idle.goroutines+moreGoroutines:
		return fmt.Errorf("%d goroutines are left, and there were %d before", f.goroutines, idle.goroutines)
	case f.heap > idle.heap+moreHeap:
		return fmt.Errorf("%d MiB of the heap are in use, and %d were before", f.heap>>20, idle.heap>>20)
	}
	return nil
}

// settle waits until the service uses about as much as it did when it was idle, on the disk no more than mostStored, for as
// long as patience.
func (s *service) settle(idle footing) (now footing, err error) {
	for end := time.Now().Add(patience); ; time.Sleep(500 * time.Millisecond) {
		if s.over() {
			return now, errors.New("the service ended")
		}
		if now, err = s.footing(); err == nil {
			err = now.over(idle)
		}
		if stored := s.stored(); err == nil && stored > mostStored {
			err = fmt.Errorf("%d MiB are stored, and %d are the most", stored>>20, mostStored>>20)
		}
		if err == nil || time.Now().After(end) {
			return now, err
		}
	}
}
