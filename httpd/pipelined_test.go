package httpd

import (
	"net"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"

	"bailiff/httpd/strict"
)

// TestPipelinedRequestsYield holds that a request which came together with the one before lets others run first. The scheduler may
// choose the yielding goroutine again, so it is asked some times.
func TestPipelinedRequestsYield(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	w := newWorld(t)
	server := w.serve(w.config(w.authority("", false)))
	var ctx fasthttp.RequestCtx
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	ctx.Init2(&strict.Conn{Conn: ours}, nil, false)
	ctx.Request.SetRequestURI("/healthz")
	server.dispatch(&ctx)
	const times = 20
	yielded := 0
	for range times {
		var ran atomic.Bool
		go ran.Store(true)
		server.dispatch(&ctx)
		if ran.Load() {
			yielded++
		}
	}
	if yielded < times/2 {
		t.Errorf("of %d pairs of requests of a connection another goroutine ran between %d", times, yielded)
	}
}
