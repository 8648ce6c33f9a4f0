// Package policies has the policies that govern the keys of a service: it compiles and deploys them, puts activations and
// replacements in force, pins tools of MCP servers, takes keys and their policies over from production into the test environment
// (mirror.go), and keeps programs loaded within a budget of memory. A policy that a request is judged by stays in memory until
// that request is answered.
package policies

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"bailiff/compiler"
	"bailiff/grammar"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/intent"
	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
	"bailiff/runtime/ratelimit"
	"bailiff/runtime/service"
	"bailiff/runtime/shims"
	"bailiff/runtime/turns"
	"bailiff/vm"
	"bailiff/vm/errcode"
)

const (
	// KeptUnused is how long a policy stays loaded after its last use, where there is room.
	KeptUnused = time.Hour
	// MaxIdle is how many bytes the programs take in all that are loaded for the next request (decisions, section 8).
	MaxIdle = 64 << 20
	// largePolicy is from how many bytes on a program is a large one. They have half of the room, so that few keys with
	// large policies do not have those of all others loaded anew for each request.
	largePolicy = 1 << 20
	// largeText is from how many bytes on texts are loaded one at a time: what loads for long must not be in front of
	// what loads in a moment.
	largeText = 32 << 10
	// usedEvery is how exactly the last use is known. Most requests then only read, and processors do not fight over the time.
	usedEvery = time.Second
)

// Config is what policies need beside their service.
type Config struct {
	// Default governs every key that has deployed no policy of its own until ReplaceDefault, where the service is self-hosted; nil
	// where it is hosted.
	Default *Policy
	// RefuseRollback refuses to deploy a policy that was replaced before (SVC_REFUSE_ROLLBACK).
	RefuseRollback bool
	// Deployments is how many policies a key may have compiled in a time (SVC_RATE_LIMIT_DEPLOY), until LimitDeployments. Zero is
	// no limit.
	Deployments ratelimit.Window
	// Shims are the trusted shims; nil: none.
	Shims *shims.Trusted
	// DeployURL is the address of the deploy route, the aud of activations. Empty refuses every activation.
	DeployURL string
	// Mirror looks live keys up in the production service, when they are first used in the test environment; nil: none.
	Mirror Mirror
}

// Policies are the policies that govern the keys of a service.
type Policies struct {
	*service.Service
	Config
	accounts *accounts.Accounts

	InForce   atomic.Pointer[Policy]      // the default policy; nil where the service is hosted
	replacing atomic.Pointer[replacement] // of the default policy, while it is under way
	replaced  sync.Mutex                  // held by ReplaceDefault
	Programs  programs
	Responses Responses
	Mirrored  mirrored

	Compiles   *turns.Turns      // of deployments
	loads      *turns.Turns      // of stored policies
	largeLoads *turns.Turns      // of those with large texts
	deployed   *ratelimit.Memory // Counts for limit
	limit      atomic.Pointer[ratelimit.Window]
}

// New returns the policies of a service. Where there is a Mirror the accounts look keys up by it from then on.
func New(s *service.Service, a *accounts.Accounts, c Config) *Policies {
	p := &Policies{Service: s, Config: c, accounts: a, deployed: ratelimit.NewMemory(maxDeployers)}
	p.InForce.Store(c.Default)
	p.LimitDeployments(c.Deployments)
	if c.Mirror != nil {
		a.Sync = p
	}
	p.Compiles = turns.New(turns.HalfOf(), 0, s.Long, s.Watch(metrics.Compiling))
	p.loads = turns.New(2*turns.HalfOf(), turns.MaxWaiting, nil, s.Watch(metrics.Loading))
	p.largeLoads = turns.New(1, turns.MaxWaiting, s.Long, s.Watch(metrics.Loading))
	p.Programs.watch, p.Programs.lingers = s.Watch(metrics.Programs), s.Watch(metrics.Lingering)
	s.Gauge(metrics.Compiling, turns.HalfOf(), p.Compiles.UnderWay)
	s.Gauge(metrics.Loading, 2*turns.HalfOf()+1, func() int { return p.loads.UnderWay() + p.largeLoads.UnderWay() })
	s.Gauge(metrics.Programs, MaxIdle, p.Programs.Kept)
	s.Gauge(metrics.Lingering, MaxLingering, p.Programs.StillUsed)
	return p
}

// LimitDeployments replaces how many policies a key may have compiled in a time.
func (a *Policies) LimitDeployments(w ratelimit.Window) { a.limit.Store(&w) }

// programs are the policies that are loaded, by policyHash: of the same bytes there is one for all keys.
type programs struct {
	// front finds a policy without a lock: by the first bits of its hash, the one that was used last.
	front [1024]atomic.Pointer[loaded]

	mu        sync.Mutex
	All       map[[32]byte]*loaded
	bytes     int               // of all that are loaded
	Large     int               // of those that are large
	lingering int               // of those that are not loaded any more, and that requests still use
	Known     map[[32]byte]bool // the policies that are known to have a program that counts where it lingers
	watch     *turns.Watch
	lingers   *turns.Watch
}

// loaded is a policy that is loaded, or being loaded.
type loaded struct {
	hash   [32]byte
	ready  chan struct{} // closed when policy or err is there
	Policy *Policy
	err    error
	Bytes  int          // that count; 0 while it is being loaded
	used   atomic.Int64 // Unix nanoseconds
}

// touch notes a use.
func (l *loaded) touch(now int64) {
	if now-l.used.Load() > int64(usedEvery) {
		l.used.Store(now)
	}
}

func (p *programs) slot(hash *[32]byte) *atomic.Pointer[loaded] {
	return &p.front[binary.LittleEndian.Uint16(hash[:])%uint16(len(p.front))]
}

// Get returns the policy of a hash; the first who asks loads it, and others wait.
func (p *programs) Get(hash [32]byte, now int64, load func() (*Policy, error)) (*Policy, error) {
	slot := p.slot(&hash)
	if l := slot.Load(); l != nil && l.hash == hash {
		l.touch(now)
		return l.Policy, nil
	}
	l, mine := p.claim(hash, now)
	if mine {
		p.fill(l, load)
	}
	<-l.ready
	if l.err == nil {
		p.show(slot, l)
	}
	return l.Policy, l.err
}

// show has a policy found without a lock, unless it is forgotten already.
func (p *programs) show(slot *atomic.Pointer[loaded], l *loaded) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.All[l.hash] == l {
		slot.Store(l)
	}
}

// claim returns the entry of a hash, and whether the caller has to fill it.
func (p *programs) claim(hash [32]byte, now int64) (l *loaded, mine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.All[hash]; l != nil {
		l.touch(now)
		return l, false
	}
	if p.All == nil {
		p.All = map[[32]byte]*loaded{}
	}
	l = &loaded{hash: hash, ready: make(chan struct{}), err: errLoading}
	l.used.Store(now)
	p.All[hash] = l
	return l, true
}

// errLoading is what those who wait get if loading panics.
var errLoading = errors.New("the policy could not be loaded")

// fill loads the policy of an entry. What can't be loaded is forgotten, so that the next request tries again.
func (p *programs) fill(l *loaded, load func() (*Policy, error)) {
	defer func() {
		if l.err != nil {
			p.mu.Lock()
			delete(p.All, l.hash)
			p.mu.Unlock()
		}
		close(l.ready)
	}()
	l.Policy, l.err = load()
	if l.err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		l.Bytes = l.Policy.Memory()
		if Counts(l.Policy) {
			p.know(l.hash)
		}
		p.count(l.Bytes)
		p.watch.Use(p.bytes, MaxIdle)
		p.makeRoom(l)
	}
}

// count adds to what is loaded the bytes of a program, or takes them away where they are negative.
func (p *programs) count(bytes int) {
	p.bytes += bytes
	if bytes >= largePolicy || -bytes >= largePolicy {
		p.Large += bytes
	}
}

// makeRoom forgets the policies that were used longest ago, but not keep, until the others fit. Requests that are under way
// finish by the program that they have.
func (p *programs) makeRoom(keep *loaded) {
	for p.bytes > MaxIdle || p.Large > MaxIdle/2 {
		var oldest *loaded
		for _, l := range p.All {
			if l != keep && l.Bytes > 0 && (p.bytes > MaxIdle || l.Bytes >= largePolicy) && (oldest == nil || l.used.Load() < oldest.used.Load()) {
				oldest = l
			}
		}
		if oldest == nil {
			return
		}
		p.remove(oldest)
		p.watch.Exceeded()
	}
}

// remove forgets a policy.
func (p *programs) remove(l *loaded) {
	delete(p.All, l.hash)
	p.slot(&l.hash).CompareAndSwap(l, nil)
	p.count(-l.Bytes)
	p.dropped(l.Policy)
}

// Forget forgets the policy of a hash, which is loaded again where a key still has it.
func (p *programs) Forget(hash [32]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.All[hash]; l != nil && l.Bytes > 0 {
		p.remove(l)
	}
}

// Kept returns how many bytes the programs take that are loaded.
func (p *programs) Kept() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes
}

// Drop forgets the policies that were not used since a time, and returns how many are left.
func (p *programs) Drop(before int64) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.All {
		if l.Bytes > 0 && l.used.Load() < before {
			p.remove(l)
		}
	}
	return len(p.All)
}

// Acquire notes that a request is judged by a policy from now on, until Release.
func (a *Policies) Acquire(policy *Policy) { a.Programs.use(policy, 1) }

// Release notes that a request is not judged by a policy any more.
func (a *Policies) Release(policy *Policy) { a.Programs.use(policy, -1) }

// DropUnused frees the memory of policies that were not used for an hour; they are loaded again when they are. It is to
// be called every minute or so. It returns how many policies stay loaded.
func (a *Policies) DropUnused(now time.Time) int {
	return a.Programs.Drop(now.Add(-KeptUnused).UnixNano())
}

// Of returns the policy in force for a key as it is, at a time. A nil policy comes with the failure to answer, or with again:
// the key has moved on meanwhile.
func (a *Policies) Of(ctx context.Context, key *ledger.Key, now int64) (policy *Policy, fault *service.Failure, again bool) {
	if key.PolicyHash == [32]byte{} {
		standard := a.DefaultPolicy()
		if standard == nil {
			return nil, service.Fail(errcode.NoPolicy, "the API key has no policy; deploy one with POST /v1/warranty/deploy"), false
		}
		if !standard.isFor(key.ID) {
			return nil, service.Fail(errcode.NoPolicy, "the default policy is for other API keys, and this one has no policy of its own; "+
				"deploy one with POST /v1/warranty/deploy, or have the operator add "+key.ID.String()+" to the `keys` of the default policy"), false
		}
		return standard, nil, false
	}
	if l := a.Programs.slot(&key.PolicyHash).Load(); l != nil && l.hash == key.PolicyHash { // without a closure
		l.touch(now)
		return l.Policy, nil, false
	}
	policy, err := a.Programs.Get(key.PolicyHash, now, func() (*Policy, error) {
		return a.loadPolicy(context.WithoutCancel(ctx), key)
	})
	switch {
	case errors.Is(err, errMoved):
		return nil, nil, true
	case errors.Is(err, errBusy):
		return nil, service.Retryable(errcode.EvaluationBusy, "too many policies are being loaded or used; ask again", service.ComeAgain), false
	case err != nil:
		a.Log.Error("a deployed policy could not be loaded", "key", key.ID.String(), "policyHash", hex.EncodeToString(key.PolicyHash[:]), "error", err)
		return nil, service.Unavailable(), false
	}
	return policy, nil, false
}

// errMoved says that a key has another policy than its caller knows.
var errMoved = errors.New("the key has another policy by now")

// errBusy says that too many policies wait to be loaded, or that requests use too many that were replaced.
var errBusy = errors.New("too many policies are being loaded or used")

// loadPolicy reads the policy of a key from the ledger.
func (a *Policies) loadPolicy(ctx context.Context, key *ledger.Key) (*Policy, error) {
	stored, err := a.Ledger.Policy(ctx, key.ID)
	if err != nil {
		return nil, err
	}
	if stored.PolicyHash != key.PolicyHash {
		return nil, errMoved
	}
	large, room := a.Programs.mayLoad(key.PolicyHash)
	if !room {
		a.Programs.lingers.Exceeded()
		return nil, errBusy
	}
	lane := a.loads
	if large || len(stored.Text) > largeText {
		lane = a.largeLoads
	}
	done, ok := lane.Take(ctx, key.ID)
	if !ok {
		return nil, errBusy
	}
	defer done()
	policy, err := OpenPolicy(&stored)
	if err != nil {
		return nil, err
	}
	if !a.Programs.hasRoom(policy) {
		return nil, errBusy
	}
	a.warnDeferred(key, policy)
	return policy, nil
}

// warnDeferred says which errors a policy in force would have if it were deployed now.
func (a *Policies) warnDeferred(key *ledger.Key, policy *Policy) {
	for _, d := range policy.Warnings {
		if d.Code.Severity() == grammar.Error {
			a.Log.Warn("a policy in force has an error that this version refuses in new deployments; it stays in force; correct the error before the next deployment",
				"key", key.ID.String(), "policyHash", policy.Hash, "code", string(d.Code), "finding", d.Message)
		}
	}
}

// programVersion says by which compiler, and for which machine, stored programs are.
const programVersion = compiler.Revision<<8 | vm.MachineVersion

// OpenPolicy makes a stored policy ready to judge. Its text is the truth: the signature is verified again. The compiled
// program is a cache; where it is of another machine or compiler, or is no program, the text is compiled anew.
func OpenPolicy(stored *ledger.StoredPolicy) (*Policy, error) {
	src := grammar.NewSource("warranty.md", stored.Text)
	framed, found := grammar.Split(src)
	if found.HasErrors() || !framed.Signed || grammar.PolicyHash(framed.Body) != hex.EncodeToString(stored.PolicyHash[:]) {
		return nil, errors.New("the stored text is not the policy of its hash")
	}
	if err := attest.VerifyPolicy(stored.Operator[:], framed.Body, framed.Signature); err != nil {
		return nil, err
	}
	if stored.Machine == programVersion {
		program, err := vm.Decode(stored.Program)
		if err == nil && program.Policy() == stored.Version {
			return newPolicy(program, stored.PolicyHash)
		}
	}
	policy, _, err := compilePolicy(src, compiler.CompileInForce)
	if err != nil {
		return nil, fmt.Errorf("its stored program is of no use, and its text does not compile: %w", err)
	}
	return policy, nil
}

// newPolicy binds a program to the fields of requests.
func newPolicy(program *vm.Program, digest [32]byte) (*Policy, error) {
	binding, err := intent.NewBinding(program.Fields(), program.Tokens())
	if err != nil {
		return nil, fmt.Errorf("the compiled program can't be bound to requests: %w", err)
	}
	return &Policy{
		Hash: hex.EncodeToString(digest[:]), Version: program.Policy(), Digest: digest, Program: program, Binding: binding,
		Actions: grantedActions(program), CounterLines: counterLines(program), Effort: compiler.EffortOf(program),
	}, nil
}

// MaxAttempts bounds how often a plan is made again because the key's epoch moved meanwhile. Each time takes a
// revocation or a deployment of that key within microseconds.
const MaxAttempts = 32
