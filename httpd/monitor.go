package httpd

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"bailiff/runtime/metrics"
)

// monitorTimeout bounds how long a reader of metrics may take to send its request. An answer may take longer: a profile
// is measured for as long as was asked.
const monitorTimeout = 10 * time.Second

// Monitor serves what operators watch a service by. It knows no keys: it belongs on a loopback address.
type Monitor struct {
	http *http.Server
	end  context.CancelFunc // of the context of all requests
}

// NewMonitor returns the server of /metrics, /healthz and /readyz, which tells what checks return.
func NewMonitor(m *metrics.Metrics, checks func() []Check, log *slog.Logger) *Monitor {
	routes := http.NewServeMux()
	routes.Handle("GET /metrics", m.Handler())
	routes.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"status":"ok"}`)) // the client has gone
	})
	routes.HandleFunc("GET /readyz", readyHandler(checks))
	return newMonitor(routes, log)
}

// NewProfiler returns the server of /debug/pprof/. A profile shows what is in memory, API keys included.
func NewProfiler(log *slog.Logger) *Monitor {
	routes := http.NewServeMux()
	routes.HandleFunc("GET /debug/pprof/", pprof.Index)
	routes.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	routes.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	routes.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	routes.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	routes.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return newMonitor(routes, log)
}

func newMonitor(routes http.Handler, log *slog.Logger) *Monitor {
	requests, end := context.WithCancel(context.Background())
	return &Monitor{&http.Server{
		Handler: routes, ReadTimeout: monitorTimeout, IdleTimeout: idleTimeout, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext: func(net.Listener) context.Context { return requests },
	}, end}
}

// Serve answers on a listener until Shutdown.
func (m *Monitor) Serve(listener net.Listener) error {
	if at, ok := listener.Addr().(*net.TCPAddr); ok && at.IP.IsLoopback() {
		m.http.Handler = ofThisMachine(m.http.Handler)
	}
	if err := m.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ofThisMachine refuses requests that name another host than this machine: a page whose name leads to a loopback address (DNS
// rebinding) would have the browser of somebody here read for it what no key protects.
func ofThisMachine(routes http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if host != "localhost" && net.ParseIP(strings.Trim(host, "[]")) == nil {
			http.Error(w, "the Host of the request is a name that this address does not serve; use localhost or the address itself",
				http.StatusMisdirectedRequest)
			return
		}
		routes.ServeHTTP(w, r)
	})
}

// Shutdown finishes the requests in flight, or breaks it off when ctx ends. A profile that is being measured ends at once, and
// is of the time until then.
func (m *Monitor) Shutdown(ctx context.Context) error {
	m.end()
	if err := m.http.Shutdown(ctx); err != nil {
		return errors.Join(err, m.http.Close())
	}
	return nil
}
