package serve

import (
	"context"
	"crypto/tls"
	"net/http"

	"github.com/coreos/go-systemd/v22/daemon"
)

// notify tells the service manager how far the service is (sd_notify(3)); without one it does nothing.
func (r *service) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		r.log.Warn("the service manager was not told how far the service is", "state", state, "error", err)
	}
}

// notifyReload tells the service manager that a reload begins, and returns what tells it that the reload has ended.
func (r *service) notifyReload() (done func()) {
	r.notify(daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec())
	return func() { r.notify(daemon.SdNotifyReady) }
}

// startWatchdog has the service manager told that the service lives, twice in each period that it gave, for as long as the API
// answers. Without a manager that asks for it nothing is started.
func (r *service) startWatchdog(ctx context.Context, fault func(error)) {
	period, err := daemon.SdWatchdogEnabled(false)
	if err != nil || period == 0 {
		return
	}
	client := &http.Client{Timeout: period / 4, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}, //nolint:gosec // it asks itself, and sends no secret
	}}
	r.work.start(ctx, every(period/2, func(context.Context) error {
		response, err := client.Get(r.scheme() + r.address + "/healthz")
		if err != nil {
			r.log.Error("the API does not answer; the service manager is told nothing, and may restart the service", "address", r.address, "error", err)
			return nil
		}
		response.Body.Close()
		r.notify(daemon.SdNotifyWatchdog)
		return nil
	}), fault)
}
