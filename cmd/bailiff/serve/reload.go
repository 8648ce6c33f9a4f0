package serve

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/runtime/gateway"
	"bailiff/runtime/metrics"
	"bailiff/runtime/policies"
)

// reloadPatience bounds how long the policy's file may take to be read: a pipe or a disk that hangs must not keep the service
// from ending.
const reloadPatience = 10 * time.Second

// catchHangUps has SIGHUP sent to a channel instead of ending the process, until stop is called. A signal that comes while
// another one waits is the same reload.
func catchHangUps() (hangUps <-chan os.Signal, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	return signals, func() { signal.Stop(signals) }
}

// reloadOn reloads the default policy at each signal until ctx ends.
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

// reload puts the policy of WARRANTY_PATH in force, and logs and counts what came of it. On any error the policy in force stays.
func (r *service) reload(ctx context.Context) {
	if r.settings.Hosted {
		r.log.Warn("SIGHUP: a hosted service has no default policy, and reads its settings at start only; nothing was reloaded")
		return
	}
	before := r.decider.DefaultPolicy().Hash
	loaded, changed, err := r.replaceDefault(ctx)
	switch {
	case err != nil:
		r.metrics.Reload(metrics.ReloadRefused)
		r.log.Error("SIGHUP: the default policy was not replaced; the one in force stays", "policyHash", before, "error", cli.Plain(err))
	case !changed:
		r.metrics.Reload(metrics.ReloadUnchanged)
		r.log.Info("SIGHUP: the default policy is the one in force already", "policyHash", before)
	default:
		r.metrics.Reload(metrics.ReloadReplaced)
		r.log.Info("SIGHUP: the default policy was replaced", "policyHash", loaded.Policy.Hash, "before", before)
		r.announceWarnings(loaded.Policy)
	}
}

// replaceDefault reads the policy's file and puts it in force, in the gateways too.
func (r *service) replaceDefault(ctx context.Context) (loaded boot, changed bool, err error) {
	if loaded, err = r.reread(ctx); err != nil {
		return boot{}, false, err
	}
	terms, err := gateway.ParseTerms(loaded.Text)
	if err != nil {
		return boot{}, false, err
	}
	changed, err = r.decider.ReplaceDefault(ctx, loaded.Policy, func() { r.gateway.SetDefault(terms) })
	var invalid *policies.InvalidPolicy
	if errors.As(err, &invalid) {
		err = fmt.Errorf("%s: %w%s", r.settings.WarrantyPath, err, reportOf(invalid))
	}
	return loaded, changed, err
}

// reread reads the policy's file again, for no longer than reloadPatience.
func (r *service) reread(ctx context.Context) (boot, error) {
	type result struct {
		loaded boot
		err    error
	}
	path, read := r.settings.WarrantyPath, make(chan result, 1)
	go func() {
		loaded, err := loadBoot(path, ed25519.PublicKey(r.boot.operator[:]))
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
