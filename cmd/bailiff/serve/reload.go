package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"bailiff/cmd/bailiff/cli"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/runtime/gateway"
	"bailiff/runtime/metrics"
	"bailiff/runtime/policies"
)

// reloadPatience bounds how long the policy's file may take to be read: a pipe or a disk that hangs must not keep the service
// from ending.
const reloadPatience = 10 * time.Second

// catchHangUps has SIGHUP sent to a channel instead of ending the process, until stop is called. A signal that comes while
// another one waits is the same reload.
func catchHangUps() (hangUps chan os.Signal, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	return signals, func() { signal.Stop(signals) }
}

// reloadOn reloads at each signal until ctx ends.
func (r *service) reloadOn(hangUps <-chan os.Signal) func(context.Context) error {
	return func(ctx context.Context) error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-hangUps:
				done := r.notifyReload()
				r.reload(ctx)
				done()
			}
		}
	}
}

// reload reads the settings, the certificates and the policy again and puts all of it in force, or, on any error, nothing. It
// logs and counts the outcome.
func (r *service) reload(ctx context.Context) {
	next, pairs, changed, err := r.rereadSettings()
	if err != nil {
		r.metrics.Reload(metrics.ReloadRefused)
		r.log.Error("SIGHUP: nothing was reloaded; settings, certificates and policy stay", "error", cli.Plain(err))
		return
	}
	if !r.settings.Hosted && !r.reloadPolicy(ctx, next.WarrantyPath) {
		return
	}
	r.level.Set(next.LogLevel)
	limits := next.Limits()
	for _, api := range r.apis {
		if err := api.SetLimits(limits); err != nil {
			r.log.Error("SIGHUP: the limits stay", "error", err) // the settings' types refuse such limits
		}
	}
	r.decider.LimitDeployments(limits.Deploy)
	r.certificates.use(pairs)
	if r.peers.passing != nil {
		r.peers.passing.Renew()
	}
	if r.mirror != nil {
		r.mirror.use(r.certificates.mirror.Load())
	}
	r.current = next
	r.log.Info("SIGHUP: settings and certificates were read again", "changed", strings.Join(changed, " "))
	r.warnOfCertificates(pairs)
}

// reloadWaiting reads the certificates again at each signal, until ctx ends. What else a reload puts in force is of an instance that decides:
// it reloads all of it then.
func (r *service) reloadWaiting(ctx context.Context, hangUps chan os.Signal) {
	var last os.Signal
	for {
		select {
		case last = <-hangUps:
			r.renew()
			continue
		case <-ctx.Done():
		}
		if last != nil {
			select {
			case hangUps <- last:
			default: // another one has come
			}
		}
		return
	}
}

// renew reads the certificates again and shows them, or, on any error, none of them.
func (r *service) renew() {
	next, pairs, _, err := r.rereadSettings()
	if err != nil {
		r.metrics.Reload(metrics.ReloadRefused)
		r.log.Error("SIGHUP: nothing was reloaded; settings and certificates stay", "error", cli.Plain(err))
		return
	}
	r.level.Set(next.LogLevel)
	r.certificates.use(pairs)
	if r.peers.passing != nil {
		r.peers.passing.Renew()
	}
	r.log.Info("SIGHUP: the certificates were read again; settings and policy are when this instance decides")
	r.warnOfCertificates(pairs)
}

// rereadSettings reads the settings and the certificates that they name. It returns the names of the settings that have changed,
// and refuses a change that a service can't follow while it runs.
func (r *service) rereadSettings() (next *cmdsettings.Settings, pairs []pair, changed []string, err error) {
	if next, err = r.again(); err != nil {
		return nil, nil, nil, err
	}
	changed, fixed := cmdsettings.Changed(r.current, next)
	if (r.settings.TLSCert == "") != (next.TLSCert == "") {
		fixed = append(fixed, "SVC_TLS_CERT")
	}
	if len(fixed) > 0 {
		return nil, nil, nil, fmt.Errorf("these settings have changed, and change with a restart alone: %s; take the change back, or restart the service", strings.Join(fixed, ", "))
	}
	pairs, faults := ReadPairs(next)
	for _, one := range pairs {
		if one.Prefix == "SVC_PEER" {
			faults = append(faults, r.namesThis(one.Config))
		}
	}
	return next, pairs, changed, errors.Join(faults...)
}

// reloadPolicy puts the policy of a file in force, and reports false where the one before stays because of an error.
func (r *service) reloadPolicy(ctx context.Context, path string) bool {
	before := r.decider.DefaultPolicy().Hash
	loaded, changed, err := r.replaceDefault(ctx, path)
	switch {
	case err != nil:
		r.metrics.Reload(metrics.ReloadRefused)
		r.log.Error("SIGHUP: the default policy was not replaced; the one in force stays, as settings and certificates do", "policyHash", before, "error", cli.Plain(err))
		return false
	case !changed:
		r.metrics.Reload(metrics.ReloadUnchanged)
		r.log.Info("SIGHUP: the default policy is the one in force already", "policyHash", before)
	default:
		r.metrics.Reload(metrics.ReloadReplaced)
		r.log.Info("SIGHUP: the default policy was replaced", "policyHash", loaded.Policy.Hash, "before", before)
		r.announceWarnings(loaded.Policy)
		if r.store != nil {
			_ = r.comparePolicies(ctx) // it says in the log what it finds
		}
	}
	return true
}

// replaceDefault reads the policy's file and puts it in force, in the gateways too.
func (r *service) replaceDefault(ctx context.Context, path string) (loaded boot, changed bool, err error) {
	if loaded, err = r.reread(ctx, path); err != nil {
		return boot{}, false, err
	}
	terms, err := gateway.ParseTerms(loaded.Text)
	if err != nil {
		return boot{}, false, err
	}
	changed, err = r.decider.ReplaceDefault(ctx, loaded.Policy, func() { r.gateway.SetDefault(terms) })
	var invalid *policies.InvalidPolicy
	if errors.As(err, &invalid) {
		err = fmt.Errorf("%s: %w%s", path, err, reportOf(invalid))
	}
	return loaded, changed, err
}

// reread reads the policy's file again, for no longer than reloadPatience.
func (r *service) reread(ctx context.Context, path string) (boot, error) {
	type result struct {
		loaded boot
		err    error
	}
	read := make(chan result, 1)
	go func() {
		operators, err := operatorsOf(r.ledger.Operators(), r.boot.operator)
		if err != nil {
			read <- result{boot{}, err}
			return
		}
		loaded, err := loadBoot(path, operators...)
		read <- result{loaded, err}
	}()
	patience := time.NewTimer(reloadPatience)
	defer patience.Stop()
	select {
	case got := <-read:
		return got.loaded, got.err
	case <-ctx.Done():
		return boot{}, errors.New("the service is ending")
	case <-patience.C:
		return boot{}, fmt.Errorf("%s could not be read within %v; make it a regular file on a disk that answers", path, reloadPatience)
	}
}
