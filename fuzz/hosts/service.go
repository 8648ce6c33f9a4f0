package hosts

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A Mode is how a fake service treats a request for a decision.
type Mode uint8

// The modes of a service.
const (
	Down     Mode = iota // nothing listens
	Slow                 // the request is read, and never answered
	Garbage              // 200 with a body that is no decision
	Busy                 // 429
	Failing              // 503
	Denying              // a denial
	Allowing             // a decision to allow
	Dropping             // the request is read, and the connection closed without an answer
)

// A Service is a fake service.
type Service struct {
	URL string

	mode     Mode
	asked    chan struct{}
	once     sync.Once
	closing  chan struct{}
	server   *http.Server
	listener net.Listener
}

// NewService starts a service; Close stops it.
func NewService(mode Mode) (*Service, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Service{URL: "http://" + listener.Addr().String(), mode: mode, asked: make(chan struct{}), closing: make(chan struct{}), listener: listener}
	if mode == Down {
		return s, listener.Close()
	}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

// Asked is closed when the first request has arrived.
func (s *Service) Asked() <-chan struct{} { return s.asked }

// Close stops the service, and every request that waits.
func (s *Service) Close() {
	close(s.closing)
	if s.server != nil {
		_ = s.server.Close()
	}
}

// ServeHTTP answers every request by the mode.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Nonce string `json:"request_nonce"`
	}
	_ = json.NewDecoder(r.Body).Decode(&request)
	_, _ = io.Copy(io.Discard, r.Body)
	s.once.Do(func() { close(s.asked) })
	if s.mode == Slow {
		select {
		case <-s.closing:
		case <-r.Context().Done():
		}
		return
	}
	if s.mode == Dropping {
		panic(http.ErrAbortHandler) // closes the connection, and logs nothing
	}
	answer := answers[s.mode]
	w.Header().Set("Content-Type", "application/json")
	if answer.status == http.StatusTooManyRequests || answer.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(answer.status)
	_, _ = io.WriteString(w, strings.ReplaceAll(answer.body, "NONCE", request.Nonce))
}

// answers are the answers of a service by its mode. The one that allows has no valid attestation: nothing here spends it.
var answers = map[Mode]struct {
	status int
	body   string
}{
	Garbage: {http.StatusOK, "<html>ALLOWED</html>"},
	Busy:    {http.StatusTooManyRequests, `{"error_code":"SVC_RATE_LIMITED","message":"too many requests"}`},
	Failing: {http.StatusServiceUnavailable, `{"error_code":"SVC_LIMIT_STORE_UNAVAILABLE","message":"the store cannot be read"}`},
	Denying: {http.StatusForbidden, `{"status":"DENIED","intent_attestation":null,"policyHash":"` + hash +
		`","error_code":"SVC_POLICY_VIOLATION","matched_rule":"tool_calls.bash.blocked_commands","message":"the command is blocked","request_nonce":"NONCE"}`},
	Allowing: {http.StatusOK, `{"status":"ALLOWED","intent_attestation":"e30.e30.c2ln","policyHash":"` + hash + `","message":"allowed","request_nonce":"NONCE"}`},
}

// hash means the hash of a policy.
const hash = "0000000000000000000000000000000000000000000000000000000000000000"
