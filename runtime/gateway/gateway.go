package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"bailiff/runtime/attest"
	"bailiff/runtime/budget"
	"bailiff/runtime/ledger"
	"bailiff/runtime/system"
	"bailiff/vm/errcode"
)

// A Verifier verifies attestations; [attest.Verifier] is one.
type Verifier interface {
	Verify(token string, now time.Time) (*attest.Claims, error)
}

// A Ledger knows API keys and their policies, and uses attestations up; every [ledger.Ledger] is one.
type Ledger interface {
	LookupKeyID(id ledger.ID) (*ledger.Key, bool)
	Policy(ctx context.Context, key ledger.ID) (ledger.StoredPolicy, error)
	UseOnce(ctx context.Context, u *ledger.Use) error
}

// defaultChains are the chains that are served unless others are named (specification, gateways.1).
var defaultChains = []uint64{1, 8453}

// Config is what a gateway is made of. Verifier, Ledger, Environment, Calls and Log are required.
type Config struct {
	Verifier    Verifier
	Ledger      Ledger
	BootPolicy  []byte // text of the policy that governs keys without one of their own until SetDefault; nil: there is none (hosted)
	Upstreams   []Upstream
	Chains      []uint64    // the allow-list; empty: defaultChains
	EntryPoints EntryPoints // empty: the canonical contracts
	MaxFees     MaxFees     // of writes whose attestation claims no maxFeeBase
	Environment string      // of the API keys whose attestations are good here
	Observe     bool        // SVC_MODE=OBSERVE is in effect: only then do attestations of that mode fit
	Calls       system.Calls
	ClockDoubt  func() bool // whether the clock cannot be relied on, as of its last reading; nil: it always can
	Log         *slog.Logger

	Timeout     time.Duration  // of one request to an upstream; 0: defaultTimeout
	MaxResponse int64          // bytes of an upstream's response; 0: defaultMaxResponse
	MaxInFlight int            // reads of one upstream at once, and as many writes; 0: defaultMaxInFlight
	Answers     *budget.Budget // counts answers until clients have read them; nil: of defaultMaxHeld
	// Transport makes the transport of an upstream; nil: a pooled one of its own for each.
	Transport func() http.RoundTripper

	holdPatience time.Duration // 0: holdPatience
}

// A Gateway serves both endpoints for all chains. It is safe for concurrent use.
type Gateway struct {
	Config
	upstreams map[place]*upstream
	boot      atomic.Pointer[Terms] // of the default policy
	terms     termsByHash
	parsing   chan struct{} // holds a token while a policy's terms are read
}

// A place is where an upstream is.
type place struct {
	endpoint Endpoint
	chain    uint64
}

// New returns a gateway, or an error that names a fault of its configuration.
func New(c Config) (*Gateway, error) {
	if c.Verifier == nil || c.Ledger == nil || c.Environment == "" || c.Calls.Clock == nil || c.Log == nil {
		return nil, errors.New("a gateway needs a verifier, a ledger, an environment, a clock and a log")
	}
	if len(c.Chains) == 0 {
		c.Chains = defaultChains
	}
	if len(c.EntryPoints) == 0 {
		c.EntryPoints, _ = parseEntryPoints("")
	}
	if c.Answers == nil {
		c.Answers = NewAnswers(c.Calls.Clock, c.Log)
	}
	if c.holdPatience == 0 {
		c.holdPatience = holdPatience
	}
	g := &Gateway{Config: c, upstreams: make(map[place]*upstream, len(c.Upstreams)), parsing: make(chan struct{}, 1)}
	if c.BootPolicy != nil {
		terms, err := ParseTerms(c.BootPolicy)
		if err != nil {
			return nil, err
		}
		g.boot.Store(terms)
	}
	if err := g.open(); err != nil {
		return nil, err
	}
	return g, nil
}

// SetDefault has another policy govern the keys without one of their own.
func (g *Gateway) SetDefault(terms *Terms) { g.boot.Store(terms) }

// open opens the upstreams.
func (g *Gateway) open() error {
	for _, u := range g.Upstreams {
		at := place{u.Endpoint, u.Chain}
		if g.upstreams[at] != nil {
			return fmt.Errorf("two upstreams for /%s/%d; give one", u.Endpoint, u.Chain)
		}
		opened, err := g.openUpstream(u)
		if err != nil {
			return err
		}
		opened.answers = g.Answers
		g.upstreams[at] = opened
	}
	return nil
}

// Failures returns how often an upstream gave no answer; 0 where there is no such upstream.
func (g *Gateway) Failures(endpoint Endpoint, chain uint64) uint64 {
	if to := g.upstreams[place{endpoint, chain}]; to != nil {
		return to.failures.Load()
	}
	return 0
}

// A Request is a request that was read and may go on.
type Request struct {
	Source   netip.Addr // whose share of the upstreams' answers it uses; none: unaccounted
	endpoint Endpoint
	chain    uint64
	call     *call
	write    bool
	upstream *upstream
	reserved *held // of a read that has room
}

// Write reports whether the request needs an attestation. The IP limit is for those that need none.
func (r *Request) Write() bool { return r.write }

// Parse reads a request; chain is the last segment of its path. Exactly one of the results is nil. Refused with HTTP
// 400 are a chain that is not on the list or has no upstream, and a body that is no single JSON-RPC 2.0 request;
// a method that is not let through is refused with -32601.
func (g *Gateway) Parse(endpoint Endpoint, chain string, body []byte) (*Request, *Response) {
	id, ok := parseChain(chain)
	if !ok || !slices.Contains(g.Chains, id) {
		return nil, httpFailure(errcode.ChainUnsupported, fmt.Sprintf("chain %.32q is not served here; the chains are %v", chain, g.Chains))
	}
	to := g.upstreams[place{endpoint, id}]
	if to == nil {
		return nil, httpFailure(errcode.ChainUnsupported, fmt.Sprintf("chain %d has no upstream for /%s here", id, endpoint))
	}
	c, err := readCall(body)
	if err != nil {
		return nil, httpFailure(errcode.ValidationSchema, err.Error())
	}
	method := methodByName[endpoint][c.method]
	if method == nil {
		return nil, rpcError(c.id, rpcMethodNotFound, errcode.RPCMethod, fmt.Sprintf("the method %q is not let through", c.method))
	}
	if method.Write && (c.id == nil || string(c.id) == "null") {
		return nil, httpFailure(errcode.ValidationSchema, "id is missing: a write needs one, for its answer says what came of it")
	}
	return &Request{endpoint: endpoint, chain: id, call: c, write: method.Write, upstream: to}, nil
}

// parseChain reads a chain id as a path has it: a positive decimal integer in its one spelling.
func parseChain(text string) (uint64, bool) {
	id, err := strconv.ParseUint(text, 10, 64)
	return id, err == nil && id > 0 && strconv.FormatUint(id, 10) == text
}

// Serve answers a request that Parse returned. The credential is looked at for writes only. The caller releases the
// response when its body has been sent.
func (g *Gateway) Serve(ctx context.Context, r *Request, credential Credential) *Response {
	ctx, cancel := g.Calls.Timeout(ctx, g.timeout())
	defer cancel()
	if !r.write {
		return g.read(ctx, r)
	}
	claims, refusal := g.admit(credential)
	if refusal != nil {
		return refusal
	}
	response, err := g.submit(ctx, r, claims)
	if err == nil {
		return response
	}
	return g.refuse(r, claims, err)
}

func (g *Gateway) read(ctx context.Context, r *Request) *Response {
	r.reserved = r.upstream.hold(r)
	if err := r.reserved.grow(ctx, leastHeld); err != nil {
		return r.upstream.unanswered(r, err)
	}
	release, err := r.upstream.enter(ctx, r.write)
	if err != nil {
		r.reserved.release()
		return upstreamFailure(r, err)
	}
	defer release()
	return r.upstream.ask(ctx, r, appendParams(nil, r.call.params))
}

// appendParams appends the members of an array.
func appendParams[T ~[]byte](dst []byte, params []T) []byte {
	dst = append(dst, '[')
	for i, p := range params {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, p...)
	}
	return append(dst, ']')
}

// refuse answers a write that was not let through.
func (g *Gateway) refuse(r *Request, claims *attest.Claims, err error) *Response {
	g.Log.Info("write refused", "endpoint", r.endpoint, "chain", r.chain, "keyId", claims.KeyID, "jti", claims.ID, "reason", err)
	var wrong misfit
	var trouble *upstreamError
	switch {
	case errors.As(err, &wrong):
		response := rpcError(r.call.id, rpcInvalidParams, errcode.PolicyViolation, string(wrong))
		response.Unfit = true
		return response
	case errors.Is(err, ledger.ErrExpired):
		return httpFailure(errcode.AttestationExpired, "the attestation has expired; ask for a new authorization")
	case errors.As(err, &trouble):
		return upstreamFailure(r, trouble)
	}
	return rpcError(r.call.id, rpcServerError, errcode.StoreUnavailable, "the service could not look up the policy in force, or not record that the attestation is used up; nothing was sent, and the attestation may be used up")
}
