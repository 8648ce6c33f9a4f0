package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/client"
	"bailiff/httpd"
	"bailiff/httpd/approve"
	"bailiff/httpd/console"
	"bailiff/httpd/strict"
	"bailiff/runtime/accounts"
	"bailiff/runtime/approvals"
	"bailiff/runtime/decision"
	"bailiff/runtime/gateway"
	"bailiff/runtime/holds"
	"bailiff/runtime/intent"
	"bailiff/runtime/ledger"
	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/ledger/reopen"
	"bailiff/runtime/metrics"
	"bailiff/runtime/policies"
	"bailiff/runtime/ratelimit"
	svc "bailiff/runtime/service"
	"bailiff/runtime/webhook"
)

// maxLimitNames bounds how many sources, registering sources and keys are counted at once, each for itself, for the
// windows' memory: beyond it requests of further ones are refused until others have left their windows.
const maxLimitNames = 1 << 18

// openLedger opens the ledger, in a way that opens it again when it has failed. The data must not be a copy, unless it was moved.
func (r *service) openLedger(moved bool) error {
	report := func(format string, arguments ...any) {
		r.log.Error("store", "message", fmt.Sprintf(format, arguments...))
	}
	opening := func() (done func()) { return sayWhile(openPatience, openLogEvery, r.slowOpening) }
	again := reopen.Options{Log: r.log, Random: r.calls.Random, Go: r.calls.Go, Opening: opening, Stuck: func(err error) {
		r.failed <- fmt.Errorf("the ledger has failed, and can't be opened again: %w", err)
	}}
	if r.store != nil {
		return r.openStored(report, again)
	}
	defer opening()()
	if err := CheckPlace(r.settings); err != nil && !moved {
		return err
	}
	l, err := client.OpenLedger(r.settings, r.calls, report, r.metrics, &again)
	if err != nil {
		return err
	}
	if err := claimPlace(r.settings); err != nil {
		return errors.Join(fmt.Errorf("the place of the data can't be kept: %w", err), l.Close())
	}
	r.ledger = l
	return nil
}

const (
	// openPatience is how long the ledger may take to open before the log says so, and then every openLogEvery.
	openPatience = 5 * time.Second
	openLogEvery = time.Minute
)

// slowOpening says that the ledger does not open, and what most likely keeps it from that.
func (r *service) slowOpening() {
	if r.store != nil {
		if r.store.Standing() != pgledger.Waiting {
			r.log.Warn("the record is still being read from the database; a large one takes long")
		}
		return
	}
	free, err := freeBytes(r.settings.DataDir)
	if err == nil && free < NoBytes {
		r.log.Error("the ledger does not open, for its disk is full; make room, and it will", "path", r.settings.LedgerPath(), "freeMiB", free>>20)
		return
	}
	r.log.Warn("the ledger is still being opened; a large one takes long", "path", r.settings.LedgerPath())
}

// sayWhile calls say when something takes longer than patience, and then again after each period, until it is done.
func sayWhile(patience, period time.Duration, say func()) (done func()) {
	ended := make(chan struct{})
	go func() {
		for wait := patience; ; wait = period {
			select {
			case <-ended:
				return
			case <-time.After(wait):
				say()
			}
		}
	}()
	return func() { close(ended) }
}

// wire makes authority, gateway and servers, and opens their listeners.
func (r *service) wire() error {
	if err := r.readCertificates(); err != nil {
		return err
	}
	api, err := r.listenAPI()
	if err != nil {
		return err
	}
	stores, err := r.countLimits()
	if err != nil {
		return err
	}
	if r.decider, err = r.newAuthority(); err != nil {
		return err
	}
	var invalid *policies.InvalidPolicy
	if err := r.decider.BindDefault(context.Background()); errors.As(err, &invalid) {
		return fmt.Errorf("%s: %w%s", r.settings.WarrantyPath, err, reportOf(invalid))
	} else if err != nil {
		return err
	}
	if r.gateway, err = r.newGateway(); err != nil {
		return err
	}
	r.ready = r.newReadiness()
	if err := r.addGauges(); err != nil {
		return err
	}
	if err := errors.Join(r.countBodies(), r.countBudget(metrics.UpstreamAnswers, r.gateway.Answers)); err != nil {
		return err
	}
	commit, commitTime := cli.ThisBuild().Bound()
	config := httpd.Config{
		Authority: r.decider, Log: r.log, Clock: r.clock, Random: r.calls.Random, PublicURL: r.publicURL(), AuthZENAuthorizes: r.settings.AuthZEN == "authorize", EnvoyAuthorizes: r.settings.Envoy == "authorize", Contact: string(r.settings.Contact),
		Commit: commit, CommitTime: commitTime,
		Limits: r.settings.Limits(), Stores: stores, TrustedProxies: r.settings.TrustedProxies, Metrics: r.metrics, Gateway: r.gateway,
		Bodies: r.bodies, Ready: r.ready.checks, Confirm: r.confirm,
	}
	if r.many != nil {
		config.Slots, config.Pass, config.Commands = r.many, r.peers.passing, &r.commands
		r.many.OnResolved(r.decider.Wake)
	}
	if config.Console, err = r.newConsole(); err != nil {
		return err
	}
	if config.Approve, err = r.newApprovals(); err != nil {
		return err
	}
	if err := r.makeServers(api, config); err != nil {
		return err
	}
	r.admin = r.decider.Admin()
	if err := r.listenConsole(); err != nil {
		return err
	}
	return r.listenBeside(config)
}

// makeServers makes the server of the API, and the one of requests that other instances pass on, if there is to be one. They have limits and
// budgets in common. A standby that has their listener stays in front of them.
func (r *service) makeServers(api int, config httpd.Config) error {
	if r.standby == nil {
		one, err := httpd.New(config)
		r.clients[api].http, r.apis = one, append(r.apis, one)
		if err != nil || r.many == nil {
			return err
		}
		config.Passed = true
		passed, err := httpd.New(config)
		if err == nil {
			r.passing, r.apis = append(r.passing, server{http: passed, listener: r.peers.listener}), append(r.apis, passed)
		}
		return err
	}
	server, err := r.standby.NewServer(config)
	if err != nil {
		return err
	}
	r.apis = append(r.apis, server)
	if r.passed == nil {
		return nil
	}
	config.Passed = true
	if server, err = r.passed.NewServer(config); err != nil {
		return err
	}
	r.apis = append(r.apis, server)
	return nil
}

// newAuthority makes the authority.
func (r *service) newAuthority() (*decision.Decider, error) {
	s := r.settings
	shims, err := ReadShims(s)
	if err != nil {
		return nil, fmt.Errorf("SVC_TRUSTED_SHIMS: %w", err)
	}
	var mirror policies.Mirror
	if r.mirror = r.newMirror(); r.mirror != nil {
		mirror = r.mirror
	}
	return decision.New(decision.Config{
		Service: svc.Config{
			Ledger: r.ledger, Signer: r.signer, Environment: s.Environment, Issuer: string(s.Issuer), Hosted: s.Hosted, Operator: r.boot.operator,
			Clock: r.clock, Guard: r.guard, Random: r.calls.Random, Log: r.log, Metrics: r.metrics,
		},
		Observe: s.Observe(), Options: intent.Options{IntegerAmountsBase: s.IntegerAmounts == "base"},
		EventDetail: s.EventDetail, HoldWaits: holdWaits(r.slots), HoldPages: r.holdPages(),
		Policies: policies.Config{
			Default: r.boot.Policy, RefuseRollback: s.RefuseRollback, Deployments: s.Limits().Deploy, Shims: shims,
			DeployURL: r.deployURL(), Mirror: mirror,
		},
		Accounts: accounts.Config{Deliveries: r.deliveries, CheckURL: func(ctx context.Context, url string, format ledger.WebhookFormat) error {
			if format == ledger.EmailFormat {
				return webhook.CheckMailbox(url, s.SMTPURL != "")
			}
			return webhook.CheckURL(ctx, r.calls, url, s.WebhookAllowPrivate)
		}},
	})
}

// holdWaits is how many of the connections may wait for holds: a quarter, so that the others stay free for requests.
func holdWaits(s *strict.Slots) int {
	if s == nil {
		return holds.MaxWaits
	}
	return min(holds.MaxWaits, max(1, s.Room()/4))
}

// newConsole makes the console of keys' holders, nil where it is switched off.
func (r *service) newConsole() (*console.Console, error) {
	if !r.settings.Console {
		return nil, nil
	}
	c, err := console.New(console.Config{Authority: r.decider, Clock: r.clock, Random: r.calls.Random, Log: r.log})
	if err != nil {
		return nil, err
	}
	return c, errors.Join(r.countBudget(metrics.ConsoleSessions, c.Memory()), r.metrics.Queue("console_sessions", c.Sessions), r.metrics.Queue("console_tails", c.Tails))
}

// holdPages is what an id of a hold is put behind to make the address where approvers decide it; empty where there are none.
func (r *service) holdPages() string {
	prefix, err := approvals.HoldPages(string(r.settings.PublicURL))
	if err != nil {
		return ""
	}
	return prefix
}

// newApprovals makes the approvers' pages, nil where browsers use no passkeys at the service's address.
func (r *service) newApprovals() (*approve.Pages, error) {
	a, err := approvals.New(approvals.Config{Decider: r.decider, PublicURL: string(r.settings.PublicURL), Needed: int(r.settings.ApprovalsRequired[0] - '0')})
	if errors.Is(err, approvals.ErrPublicURL) {
		if r.settings.ApprovalsRequired != "1" {
			return nil, fmt.Errorf("SVC_APPROVALS_REQUIRED is %s, and %w", r.settings.ApprovalsRequired, err)
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.log.Info("approvers decide holds with passkeys", "address", a.Link(), "approvalsRequired", r.settings.ApprovalsRequired)
	return approve.New(approve.Config{Approvals: a, Clock: r.clock, Log: r.log})
}

// listenConsole opens the listener of the operator's console, if there is to be one.
func (r *service) listenConsole() error {
	address := string(r.settings.ConsoleListen.Address)
	if address == "" {
		return nil
	}
	c, err := console.New(console.Config{Authority: r.decider, Clock: r.clock, Random: r.calls.Random, Log: r.log, Operator: r.admin})
	if err != nil {
		return err
	}
	listeners, err := listenLoopbacks(address)
	if err != nil {
		return fmt.Errorf("SVC_CONSOLE_LISTEN: %w", err)
	}
	if r.operating, err = httpd.NewOperatorConsole(c, listeners[0], r.confirm, r.log); err != nil {
		return errors.Join(fmt.Errorf("SVC_CONSOLE_LISTEN: %w", err), closeAll(listeners))
	}
	for _, listener := range listeners {
		r.operator = append(r.operator, server{http: r.operating, listener: strict.NewRetryingListener(listener, nil, r.clock, r.log)})
	}
	r.log.Info("serving the operator's console; open it with: bailiff console", "address", listeners[0].Addr().String())
	return errors.Join(r.countBudget(metrics.OperatorSessions, c.Memory()), r.metrics.Queue("operator_console_sessions", c.Sessions), r.metrics.Queue("operator_console_tails", c.Tails))
}

// newGateway makes the gateway to the chains that have an upstream.
func (r *service) newGateway() (*gateway.Gateway, error) {
	s := r.settings
	verifier, err := r.signer.Verifier(string(s.Issuer))
	if err != nil {
		return nil, err
	}
	return gateway.New(gateway.Config{
		Verifier: verifier, Ledger: r.ledger, BootPolicy: r.boot.Text, Upstreams: s.Upstreams(),
		Chains: s.RPCChains, EntryPoints: s.EntryPoints, MaxFees: s.FeeLimits(), Environment: s.Environment,
		Observe: s.Observe(), Calls: r.calls, ClockDoubt: func() bool { return r.guard.Doubt() != nil }, Log: r.log,
	})
}

// countLimits makes the stores of the rate limits, each with a metric of how many names it holds.
func (r *service) countLimits() (httpd.Stores, error) {
	sources, registrations, keys := ratelimit.NewMemory(maxLimitNames), ratelimit.NewMemory(maxLimitNames), ratelimit.NewMemory(maxLimitNames)
	return httpd.Stores{Sources: sources, Registrations: registrations, Keys: keys}, errors.Join(
		r.metrics.Queue("rate_limit_sources", sources.Names),
		r.metrics.Queue("rate_limit_registrations", registrations.Names),
		r.metrics.Queue("rate_limit_keys", keys.Names))
}

// deployURL is what the activations of trusted shims have to be made for; empty, which refuses all, where the service does
// not know its own address.
func (r *service) deployURL() string {
	if r.publicURL() == "" {
		return ""
	}
	return r.publicURL() + "/v1/warranty/deploy"
}
