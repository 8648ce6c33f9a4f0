package httpd

import (
	"errors"
	"fmt"
	"strconv"
	"time"
	"unsafe"

	"github.com/dunglas/httpsfv"
	"github.com/valyala/fasthttp"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ratelimit"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// A limitKind says which limits bound a route. Every kind but noLimit and gatewayLimit has the guard of sources in front.
type limitKind uint8

const (
	noLimit       limitKind = iota
	decisionLimit           // per key, once the body has been found valid
	holdLimit               // per key
	registerLimit           // per source
	manageLimit             // per key
	operatorLimit           // per source, and in all beyond that: the handler counts
	gatewayLimit            // per source: reads, which the handler counts, and writes that are refused
)

// A policy is a limit with its name in the fields of answers and in front of the names that are counted, and what
// counts them.
type policy struct {
	name   string
	window ratelimit.Window
	store  ratelimit.Store
}

// sourcePolicy is the guard of sources, as one of the stores counts it.
func (s *Server) sourcePolicy(store ratelimit.Store) policy {
	return policy{"ip", s.rates.Load().IP, store}
}

func (s *Server) registerPolicy() policy {
	return policy{"register", s.rates.Load().Register, s.config.Stores.Registrations}
}

// keyPolicy is the limit of a kind of routes that counts by key. It has no window where there is none.
func (s *Server) keyPolicy(kind limitKind) policy {
	keys := s.config.Stores.Keys
	switch kind {
	case decisionLimit:
		return policy{"key", s.rates.Load().Key, keys}
	case holdLimit:
		return policy{"holds", s.rates.Load().Holds, keys}
	case manageLimit:
		return policy{"manage", s.rates.Load().Manage, keys}
	case noLimit, registerLimit, operatorLimit, gatewayLimit:
	}
	return policy{}
}

// limitSource holds a request to the limit of its source. Where so many sources are counted that there is no room for
// another, a request with a good key counts by its key instead: a flood from everywhere shuts out none but the unknown.
func (s *Server) limitSource(c *call) *service.Failure {
	fault, full := s.takeSource(c, s.sourcePolicy(s.config.Stores.Sources))
	if !full || !c.route.access.keyed {
		return fault
	}
	key, bad := s.authenticate(c)
	if bad != nil {
		return fault
	}
	return s.takeKey(c, s.sourcePolicy(s.config.Stores.Keys), key)
}

func (s *Server) takeSource(c *call, p policy) (fault *service.Failure, full bool) {
	if p.window.Limit == 0 {
		return nil, false
	}
	c.name = s.source(c.RequestCtx).AppendTo(append(append(c.name[:0], p.name...), ':'))
	return s.take(c, p)
}

func (s *Server) takeKey(c *call, p policy, key *ledger.Key) *service.Failure {
	return s.takeOwn(c, p, key.ID)
}

// takeOwn counts a request for an API key, or for another one who has an id.
func (s *Server) takeOwn(c *call, p policy, id ledger.ID) *service.Failure {
	if p.window.Limit == 0 {
		return nil
	}
	c.name = append(append(append(c.name[:0], p.name...), ':'), id[:]...)
	fault, _ := s.take(c, p)
	return fault
}

// admitEarly holds a request to what counts before its key is looked at.
func (s *Server) admitEarly(c *call) *service.Failure {
	switch c.route.limit {
	case noLimit, gatewayLimit, operatorLimit:
		return nil
	case decisionLimit, holdLimit, registerLimit, manageLimit:
	}
	fault := s.limitSource(c)
	if fault == nil && c.route.limit == registerLimit {
		fault, _ = s.takeSource(c, s.registerPolicy())
	}
	return fault
}

// statements bounds the statements of operators that a source sends before it needs a part of statementsBeyond: verifying one costs.
var statements = ratelimit.Window{Limit: 30, Per: time.Minute}

// statementsBeyond is how many statements in a second are verified, in all, of sources that are beyond their limits. So that others who share the
// operator's address, as behind a proxy, can't keep a freeze out, such a statement is refused only once it has proved to be bad. So many take some 6 % of
// a processor. Of a larger flood each statement has its chance, and the command sends the operator's again.
const statementsBeyond = 1000

// state carries out an operator's statement, unless its source is beyond its limits and it is not good, or too many such are verified.
func state[T any](s *Server, c *call, carryOut func() (T, *service.Failure)) (view T, fault *service.Failure) {
	beyond := s.limitSource(c)
	if beyond == nil {
		beyond, _ = s.takeSource(c, policy{"operator", statements, s.statements})
	}
	if beyond != nil && !s.verifying.AllowN(s.config.Clock(), 1) {
		return view, beyond
	}
	view, fault = carryOut()
	if beyond == nil {
		return view, fault
	}
	if fault != nil && (fault.Code == errcode.StatementInvalid || fault.Code == errcode.ValidationSchema) {
		return view, beyond
	}
	c.Response.Header.Del("Retry-After")
	return view, fault
}

// countRefused counts a write that a gateway has refused for want of a good attestation that it fits: verifying costs,
// and such a write has not been counted anywhere else, however often it is repeated. Beyond the limit of the source it
// says so instead.
func (s *Server) countRefused(c *call) {
	if c.counted || c.route.limit != gatewayLimit || !c.unfit && c.Response.StatusCode() != fasthttp.StatusUnauthorized {
		return
	}
	if fault := s.limitSource(c); fault != nil {
		c.Response.Header.Del("WWW-Authenticate")
		s.fail(c, fault)
	}
}

// admitKey holds a request to the limit of its key.
func (s *Server) admitKey(c *call, key *ledger.Key) *service.Failure {
	return s.takeKey(c, s.keyPolicy(c.route.limit), key)
}

// take counts a request under the call's name, and says in the answer how much is left. A store that cannot tell
// refuses; full says that it has no room for the name.
func (s *Server) take(c *call, p policy) (fault *service.Failure, full bool) {
	name := unsafe.String(unsafe.SliceData(c.name), len(c.name)) // a store keeps a copy
	result, err := p.store.Take(name, p.window, s.config.Clock())
	if err != nil {
		s.limitTrouble(p, err)
		return &service.Failure{Code: errcode.LimitStoreUnavailable, Message: "the rate limit can't be counted, so nothing is let through; ask again later"}, errors.Is(err, ratelimit.ErrFull)
	}
	reset := wholeSeconds(result.Reset)
	c.Response.Header.Add("RateLimit-Policy", p.field("q", int64(p.window.Limit), "w", wholeSeconds(p.window.Per)))
	c.Response.Header.Add("RateLimit", p.field("r", int64(result.Remaining), "t", reset))
	if result.Allowed {
		return nil, false
	}
	c.Response.Header.Set("Retry-After", strconv.FormatInt(reset, 10))
	return &service.Failure{Code: errcode.RateLimited, Message: fmt.Sprintf("more requests than %d in %d s (limit %s); ask again in %d s", p.window.Limit, wholeSeconds(p.window.Per), p.name, reset)}, false
}

// field is an item of the fields RateLimit-Policy or RateLimit (draft-ietf-httpapi-ratelimit-headers-10, sections 3
// and 4; RFC 9651). A second limit is a second line of the same list.
func (p policy) field(first string, a int64, second string, b int64) string {
	item := httpsfv.NewItem(p.name)
	item.Params.Add(first, a)
	item.Params.Add(second, b)
	text, err := httpsfv.Marshal(httpsfv.List{item})
	if err != nil {
		return "" // a limit beyond what the field can carry
	}
	return text
}

// wholeSeconds rounds up: a client that waits so long is not refused again.
func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// limitTrouble logs that a store failed, at most once per second: clients could fill the log otherwise.
func (s *Server) limitTrouble(p policy, err error) {
	if s.limitLog.AllowN(s.config.Clock(), 1) {
		s.log.Error("a rate limit could not be counted; requests are refused, unless their API key can count for their source", "limit", p.name, "error", err)
	}
}
