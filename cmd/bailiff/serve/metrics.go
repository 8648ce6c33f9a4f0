package serve

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/httpd"
	"bailiff/runtime/budget"
	"bailiff/runtime/gateway"
	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
)

// addGauges adds the metrics that are read from the service when they are asked for.
func (r *service) addGauges() error {
	mode, hosting := r.settings.RunsAs()
	faults := []error{
		r.metrics.BuildInfo(cli.ThisBuild().Metric()),
		r.metrics.Mode(mode, hosting, r.settings.Environment),
		r.metrics.ClockDoubt(func() bool { return r.guard.Doubt() != nil }),
		r.metrics.Frozen(func() bool {
			frozen := r.ledger.Frozen()
			return frozen.Stopped()
		}),
		r.metrics.LedgerRefusing(func() bool {
			err := r.ledger.Health()
			return errors.Is(err, ledger.ErrUnavailable) && !errors.Is(err, ledger.ErrBusy)
		}),
		r.metrics.Retention(r.dropped, r.retaining.failing.Load),
		r.metrics.CheckpointAge(func() time.Duration { return r.clock().Sub(time.Unix(0, r.checkpointed.Load())) }),
		r.metrics.DiskFree(func() float64 {
			free, err := freeBytes(r.settings.DataDir)
			if err != nil {
				return math.NaN()
			}
			return float64(free)
		}),
		r.metrics.Holds(func() (number int, oldest time.Duration) {
			number, at, err := r.ledger.PendingHolds()
			if err != nil || number == 0 {
				return 0, 0
			}
			return number, r.clock().Sub(time.Unix(0, at))
		}),
	}
	if r.store != nil {
		faults = append(faults, r.metrics.Policies(r.policies.count))
	}
	if r.many != nil {
		faults = append(faults, r.metrics.Slots(r.store.Owned, func() int { return int(r.lost.Load()) }, func() int { return int(r.peers.missing.Load()) }))
	}
	checks := checkNames
	if r.many != nil {
		checks = append(slices.Clone(checks), "peers")
	}
	for _, check := range checks {
		faults = append(faults, r.metrics.Ready(check, func() bool { return r.ready.passes(check) }))
	}
	for prefix, current := range r.certificates.byPrefix() {
		if current.Load() != nil {
			faults = append(faults, r.metrics.CertificateExpires(prefix+"_CERT", func() float64 {
				return float64(pair{prefix, current.Load()}.Leaf().NotAfter.Unix())
			}))
		}
	}
	for _, u := range r.settings.Upstreams() {
		faults = append(faults, r.metrics.UpstreamFailures(u.Endpoint.String(), strconv.FormatUint(u.Chain, 10), r.failuresOf(u)))
	}
	return errors.Join(faults...)
}

// failuresOf returns what reads how often an upstream gave no answer.
func (r *service) failuresOf(u gateway.Upstream) func() uint64 {
	return func() uint64 { return r.gateway.Failures(u.Endpoint, u.Chain) }
}

// countBodies makes the budget of request bodies, unless an instance that waited has done so.
func (r *service) countBodies() error {
	if r.bodies != nil {
		return nil
	}
	r.bodies = httpd.NewBodies(r.clock, r.log)
	return r.countBudget(metrics.RequestBodies, r.bodies)
}

// countBudget adds a budget of memory to the metrics. It is not used yet.
func (r *service) countBudget(as metrics.Budget, b *budget.Budget) error {
	b.Exceeded = func() { r.metrics.Beyond(as) }
	return r.metrics.Use(as, float64(b.Most), func() float64 { return float64(b.Held()) })
}

// dropped returns how many records retention has dropped of the logs that are here.
func (r *service) dropped() (n uint64) {
	if r.many == nil {
		return r.ledger.Beginning().After.LSN
	}
	for slot, l := range r.many.Here() {
		begins := l.Beginning().After.LSN
		if slot > 0 { // it may never have had those before
			begins -= min(begins, r.many.Divided())
		}
		n += begins
	}
	return n
}
