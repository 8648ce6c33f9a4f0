package conform

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bailiff/httpd/client"
	"bailiff/httpd/client/verify"
	"bailiff/runtime/attest"
)

// A Level is a part of the specification that an implementation can conform to.
type Level string

// The levels, in the order in which they build on each other.
const (
	Core        Level = "Core"        // decisions, deployment, errors
	Limits      Level = "Limits"      // counters at their borders, asked for at once
	Holds       Level = "Holds"       // holds and the operator's resolutions
	Attestation Level = "Attestation" // both signatures and every claim
	Gateway     Level = "Gateway"     // writes to a chain
	Client      Level = "Client"      // a hook adapter, for which the kit plays the service
)

// Levels are all levels.
var Levels = []Level{Core, Limits, Holds, Attestation, Gateway, Client}

// Config says which implementation is tested, and how.
type Config struct {
	URL     string  // of the service
	Seed    int64   // of the first unit; the next have the numbers that follow
	Cases   int     // requests for decisions that are held to the oracle; more where a unit begins before that
	Levels  []Level // none: Core
	Workers int     // units that run at once; at least one
	Keys    KeySource
	Given   bool  // the keys were made by somebody else: one that was asked before is refused
	Shim    *Shim // nil: policies with resource profiles are not run

	// Operator signs policies and resolutions. A self-hosted service binds every key to its own operator's; nil: one that the kit
	// makes.
	Operator ed25519.PrivateKey
	Upstream string   // where the kit listens as a chain's node, HOST:PORT; empty: no Gateway level
	Client   []string // the command line of a hook adapter; none: no Client level

	// Flags are those with which bailiff conform runs this again, beside address, seed and level. Divergences have them.
	Flags []string

	// Progress, where it is not nil, is called with the number of cases so far, by one goroutine at a time.
	Progress func(cases int)
	// Blocks gives each unit fresh keys, and has the digests of blocks of units in the report. Only, where it is not nil, are the
	// blocks that are run, and nothing else.
	Blocks bool
	Only   []int64
	// NoShrink reports a divergence as it was found.
	NoShrink bool
	// Front, where it is not nil, is put between the kit and the service: see package falsify.
	Front func(url string) (front string, stop func(), err error)
}

// A Kit tests one implementation once.
type Kit struct {
	config   Config
	wire     *wire
	run      string // makes comments of this run their own
	deployed atomic.Uint64
	accepted [2]atomic.Bool // a policy without profiles, one with them
	operator ed25519.PrivateKey
	public   string
	audience string // of activations
	issuer   string
	verifier *verify.Keys
	mutex    sync.Mutex // guards what follows
	found    bool       // a divergence, which may still be shrunk
	report   *Report
	tokens   map[string]bool // ids of attestations
	spare    []*session      // whose story ended as expected
}

// Run tests, and reports. The error is about what kept the kit from testing; divergences are in the report. Where there is an error, and
// where the context has ended, the report has what ran until then, and says in Stopped why it ended.
func Run(ctx context.Context, config Config) (*Report, error) {
	if len(config.Levels) == 0 {
		config.Levels = []Level{Core}
	}
	config.Levels = eachOnce(config.Levels)
	config.Workers = max(config.Workers, 1)
	url := config.URL
	if config.Front != nil {
		front, stop, err := config.Front(url)
		if err != nil {
			return nil, err
		}
		defer stop()
		url = front
	}
	k := &Kit{config: config, wire: newWire(url, config.Workers*8), tokens: map[string]bool{}, report: newReport(config)}
	err := k.prepare(ctx, url)
	if err == nil {
		err = k.test(ctx)
	}
	switch {
	case ctx.Err() != nil && (err != nil || k.unfinished() || len(k.report.Blocks) < len(config.Only)):
		k.report.Stopped, err = whyEnded(ctx), nil
	case err != nil:
		k.report.Stopped = err.Error()
	case k.unfinished():
		k.report.Stopped = "there are no further API keys"
	}
	return k.report, err
}

// eachOnce returns levels in their order, each once.
func eachOnce(levels []Level) (once []Level) {
	for _, level := range levels {
		if !slices.Contains(once, level) {
			once = append(once, level)
		}
	}
	return once
}

// whyEnded says why a context has ended.
func whyEnded(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "its time is over"
	}
	return "it was interrupted"
}

// unfinished reports whether units have ended before there were enough cases, and without a divergence.
func (k *Kit) unfinished() bool {
	return len(k.turns()) > 0 && k.config.Only == nil && !k.report.diverged() && k.report.Cases < k.config.Cases
}

// prepare reads what the service says of itself.
func (k *Kit) prepare(ctx context.Context, url string) (err error) {
	var run [4]byte
	_, _ = rand.Read(run[:]) // never fails
	k.run = hex.EncodeToString(run[:])
	if k.operator = k.config.Operator; k.operator == nil {
		if k.operator, err = attest.GenerateOperatorKey(rand.Reader); err != nil {
			return err
		}
	}
	k.public = operatorText(k.operator)
	if slices.Equal(k.config.Levels, []Level{Client}) { // which needs no service
		k.report.Implementation = strings.Join(k.config.Client, " ")
		return nil
	}
	answer, err := k.wire.send(ctx, get("/.well-known/svc-conformance.json", "", ""))
	if err != nil {
		return err
	}
	descriptor := parse(answer.body)
	if k.issuer = descriptor.text("issuer"); answer.status != 200 || k.issuer == "" {
		return fmt.Errorf("%s/.well-known/svc-conformance.json names no issuer (%d): is this an implementation of the specification?", url, answer.status)
	}
	k.report.Implementation = "(" + descriptor.text("issuer") + ", specification " + descriptor.text("spec_version") + ")"
	k.audience = strings.TrimSuffix(descriptor.text("jwks_uri"), "/.well-known/jwks.json") + "/v1/warranty/deploy"
	asks, err := client.New(client.Config{URL: url})
	if err != nil {
		return err
	}
	k.verifier, err = verify.New(asks, k.issuer)
	return err
}

// test runs the parts that run once, and then units until there are enough cases or something diverges.
func (k *Kit) test(ctx context.Context) error {
	began := time.Now()
	defer func() { k.report.Seconds, k.report.RateLimits = time.Since(began).Seconds(), k.wire.limits() }()
	for _, level := range k.config.Levels {
		if k.config.Only != nil {
			break
		}
		if once := map[Level]func(context.Context) error{Core: k.once, Gateway: k.gateway, Client: k.client}[level]; once != nil {
			if err := once(ctx); err != nil || k.report.diverged() {
				return err
			}
		}
	}
	turns := k.turns()
	if len(turns) == 0 {
		return nil
	}
	var next atomic.Int64
	var done sync.WaitGroup
	work := k.work
	if k.config.Blocks {
		work = k.workBlocks
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	var problem error
	var first sync.Once
	for range k.config.Workers {
		done.Go(func() {
			if err := work(ctx, turns, &next); err != nil { // which the others would meet as well
				first.Do(func() { problem = err })
				end()
			}
		})
	}
	done.Wait()
	return problem
}

// turns are the levels of units, in the order in which units have them.
func (k *Kit) turns() (turns []Level) {
	often := map[Level]int{Core: 8, Limits: 1, Holds: 1, Attestation: 1}
	for _, level := range k.config.Levels {
		for range often[level] {
			turns = append(turns, level)
		}
	}
	return turns
}

// work runs units one after the other.
func (k *Kit) work(ctx context.Context, turns []Level, next *atomic.Int64) error {
	var s *session
	for k.wants() && ctx.Err() == nil {
		unit := next.Add(1) - 1
		level := turns[unit%int64(len(turns))]
		if s == nil || s.units >= unitsOfKeys {
			fresh, err := k.nextSession(ctx)
			switch {
			case errors.Is(err, ErrNoKeys) && s == nil:
				return nil // other workers have the keys
			case errors.Is(err, ErrNoKeys):
				s.units = 0 // and so they serve on
			case err != nil:
				return err
			default:
				s = fresh
			}
		}
		s.units++
		cases, found, err := k.unit(ctx, s, level, k.config.Seed+unit)
		var reason notRun
		switch {
		case errors.As(err, &reason):
			k.skip(level, string(reason), 1)
			s = nil // what the service remembers is not known
		case err != nil && ctx.Err() != nil:
			return nil // the time is up: the report says how far it came
		case err != nil:
			return err
		}
		k.count(level, cases)
		if found != nil {
			k.diverge(ctx, level, k.config.Seed+unit, found)
			s = nil // the service and the kit remember different things now
		}
	}
	return nil
}

// nextSession is newSession, or a session that has ended.
func (k *Kit) nextSession(ctx context.Context) (*session, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if n := len(k.spare); n > 0 {
		s := k.spare[n-1]
		k.spare = k.spare[:n-1]
		return s, nil
	}
	return k.newSession(ctx)
}

// keep lets another part of the run go on with a session.
func (k *Kit) keep(s *session) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.spare = append(k.spare, s)
}

// unit runs one unit.
func (k *Kit) unit(ctx context.Context, s *session, level Level, seed int64) (cases int, found *finding, err error) {
	if level == Limits {
		return k.limitsUnit(ctx, s, seed)
	}
	st := newStory(level, seed)
	return s.play(ctx, st)
}

// wants reports whether more cases are to be run.
func (k *Kit) wants() bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return !k.found && k.report.Cases < k.config.Cases
}

// count adds cases that were held to the oracle.
func (k *Kit) count(level Level, cases int) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.report.Cases += cases
	k.report.level(level).Cases += cases
	if k.config.Progress != nil {
		k.config.Progress(k.report.Cases)
	}
}

// skip notes what could not be run.
func (k *Kit) skip(level Level, reason string, n int) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.report.level(level).NotRun[reason] += n
}

// diverge reports a finding, as small as it can be made.
func (k *Kit) diverge(ctx context.Context, level Level, seed int64, found *finding) {
	k.mutex.Lock()
	first := !k.found
	k.found = true
	k.mutex.Unlock()
	if !first { // one is reported, as small as it can be
		return
	}
	small, note := found, ""
	if level != Limits && !k.config.NoShrink {
		small, note = k.shrink(ctx, level, seed, found)
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.report.add(level, seed, small, note, script(k.config.URL, small.steps))
}

// firstUse reports whether an attestation's id is seen for the first time.
func (k *Kit) firstUse(id string) bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.tokens[id] {
		return false
	}
	if len(k.tokens) >= maxTokens { // of some thousands, any two would show a generator that repeats itself
		clear(k.tokens)
	}
	k.tokens[id] = true
	return true
}

const maxTokens = 100_000
