package metrics

import (
	"math/bits"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The HTTP statuses that are counted apart. Others count as 500, which they would be.
const (
	firstStatus = 100
	lastStatus  = 599
)

// The bounds of a request's duration: powers of two of a microsecond, from 64 microseconds to 33 seconds. A hold is waited
// for as long.
const (
	firstBound = 6
	lastBound  = 25
)

// A Route counts the answers of one route by status, and how long they took. A nil *Route counts nothing.
type Route struct {
	name  string
	cells [lastStatus - firstStatus + 1]atomic.Uint64
	took  [lastBound - firstBound + 2]atomic.Uint64 // by the first bound that is not below; the last is for the rest
	sum   atomic.Uint64                             // nanoseconds
}

// Count counts an answer with that HTTP status, which took so long. It costs three atomic additions.
func (r *Route) Count(status int, took time.Duration) {
	if r == nil {
		return
	}
	if status < firstStatus || status > lastStatus {
		status = 500
	}
	r.cells[status-firstStatus].Add(1)
	took = max(took, 1)
	// The least n with took <= 2^n microseconds.
	bound := bits.Len64(uint64(took-1) / uint64(time.Microsecond))
	r.took[min(max(bound-firstBound, 0), len(r.took)-1)].Add(1)
	r.sum.Add(uint64(took))
}

// requests counts HTTP answers by route and status, and their durations by route.
type requests struct {
	routes atomic.Pointer[[]*Route]
}

var (
	requestsShown = prometheus.NewDesc(namespace+"_http_requests_total", "Requests that were answered.", []string{"route", "status"}, nil)
	tookShown     = prometheus.NewDesc(namespace+"_http_request_seconds", "How long requests took, from their headers to their answer.", []string{"route"}, nil)
)

// Route returns what counts a route, which is named by its pattern, never by what a client has sent. The same name is
// the same route.
func (m *Metrics) Route(name string) *Route {
	if m == nil {
		return nil
	}
	for {
		var known []*Route
		held := m.requests.routes.Load()
		if held != nil {
			known = *held
		}
		if i := slices.IndexFunc(known, func(r *Route) bool { return r.name == name }); i >= 0 {
			return known[i]
		}
		route := &Route{name: name}
		grown := append(slices.Clip(known), route)
		if m.requests.routes.CompareAndSwap(held, &grown) {
			return route
		}
	}
}

// Describe implements prometheus.Collector.
func (r *requests) Describe(to chan<- *prometheus.Desc) {
	to <- requestsShown
	to <- tookShown
}

// Collect implements prometheus.Collector.
func (r *requests) Collect(to chan<- prometheus.Metric) {
	routes := r.routes.Load()
	if routes == nil {
		return
	}
	for _, route := range *routes {
		for i := range route.cells {
			if n := route.cells[i].Load(); n > 0 {
				to <- prometheus.MustNewConstMetric(requestsShown, prometheus.CounterValue, float64(n), route.name, strconv.Itoa(i+firstStatus))
			}
		}
		if histogram := route.durations(); histogram != nil {
			to <- histogram
		}
	}
}

// Within returns the least bound of the histogram within which that share of a route's requests was answered; 0 where none was,
// or where it took longer than the last bound.
func (r *Route) Within(share float64) time.Duration {
	if r == nil {
		return 0
	}
	var counts [len(r.took)]uint64
	total := uint64(0)
	for i := range r.took {
		counts[i] = r.took[i].Load()
		total += counts[i]
	}
	within := uint64(0)
	for i := range lastBound - firstBound + 1 {
		if within += counts[i]; total > 0 && float64(within) >= share*float64(total) {
			return time.Duration(1<<(i+firstBound)) * time.Microsecond
		}
	}
	return 0
}

// durations returns the histogram of a route, nil where it was never used.
func (r *Route) durations() prometheus.Metric {
	total, buckets := uint64(0), make(map[float64]uint64, lastBound-firstBound+1)
	for i := range r.took {
		total += r.took[i].Load()
		if i+firstBound <= lastBound {
			buckets[float64(uint64(1)<<(i+firstBound))/1e6] = total
		}
	}
	if total == 0 {
		return nil
	}
	return prometheus.MustNewConstHistogram(tookShown, total, time.Duration(r.sum.Load()).Seconds(), buckets, r.name)
}
