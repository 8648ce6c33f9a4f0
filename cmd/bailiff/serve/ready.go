package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"bailiff/httpd"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/decision"
	"bailiff/runtime/ledger"
	pgledger "bailiff/runtime/ledger/postgres"
)

const (
	// readyEvery is how often the service looks whether it can decide.
	readyEvery = time.Second
	// readyStale is how old the latest look may be: the service is not ready where it does not come to looking.
	readyStale = 15 * time.Second
	// signEvery is how many looks share one trial of the signing keys.
	signEvery = 10
	// foundLeases is after how many leases an instance serves although slots are nowhere.
	foundLeases = 5
)

// readiness is whether the service can decide, as of the latest look. Requests read it: what anyone may ask for must cost little.
type readiness struct {
	ledger    func() []httpd.Check
	decider   *decision.Decider
	guard     *clock.Guarded
	clock     clock.Clock
	signer    *attest.Signer
	free      func() (uint64, error) // bytes on the disk of the data
	hosted    bool
	ending    atomic.Bool
	latest    atomic.Pointer[look]
	looks     int
	signing   httpd.Check // of the latest trial
	replacing int         // looks in a row that found the default policy being replaced
}

// A look is what the checks came to at a time.
type look struct {
	at     time.Time
	checks []httpd.Check
}

// newReadiness returns the readiness of the service, which nothing has looked at yet.
func (r *service) newReadiness() *readiness {
	checks := func() []httpd.Check { return []httpd.Check{checkLedger(r.ledger.Health())} }
	if r.many != nil {
		checks = func() []httpd.Check { return []httpd.Check{r.checkSlots(), r.checkPeers()} }
	}
	return &readiness{
		ledger: checks, decider: r.decider, guard: r.guard, clock: r.clock, signer: r.signer, hosted: r.settings.Hosted,
		free: func() (uint64, error) { return freeBytes(r.settings.DataDir) },
	}
}

// look runs the checks.
func (r *readiness) look(context.Context) error {
	if r.looks%signEvery == 0 {
		r.signing = checkSigning(r.signer, r.clock())
	}
	r.looks++
	r.latest.Store(&look{r.clock(), append(r.ledger(),
		r.checkPolicy(), r.signing, checkDisk(r.free()), checkClock(r.guard.Doubt()))})
	return nil
}

// checks returns what the latest look came to.
func (r *readiness) checks() []httpd.Check {
	latest := r.latest.Load()
	switch {
	case latest == nil:
		return []httpd.Check{{Name: "service", Reason: "it is starting"}}
	case r.ending.Load():
		return append([]httpd.Check{{Name: "service", Reason: "it is ending"}}, latest.checks...)
	case r.clock().Sub(latest.at) > readyStale:
		return append([]httpd.Check{{Name: "service", Reason: "the checks have not run for " + readyStale.String() + " or longer"}}, latest.checks...)
	}
	return latest.checks
}

// checkNames are the names of the checks that every look runs. Over several slots there is peers, too.
var checkNames = []string{"ledger", "policy", "signing", "disk", "clock"}

// passes reports whether a check passed in the latest look.
func (r *readiness) passes(name string) bool {
	for _, check := range r.checks() {
		if check.Name == name {
			return check.Ready
		}
	}
	return false
}

func checkLedger(health error) httpd.Check {
	switch {
	case health == nil:
		return httpd.Check{Name: "ledger", Ready: true, Reason: "it takes decisions"}
	case errors.Is(health, ledger.ErrUnavailable) && !errors.Is(health, ledger.ErrBusy):
		return httpd.Check{Name: "ledger", Reason: "it refuses every decision until its data can be opened again; the log says why"}
	}
	return httpd.Check{Name: "ledger", Ready: true, Reason: "it takes decisions, and reports trouble; the log says which"}
}

// checkPolicy finds a default policy that does not come into force: requests wait for it.
func (r *readiness) checkPolicy() httpd.Check {
	if r.hosted {
		return httpd.Check{Name: "policy", Ready: true, Reason: "each API key has its own"}
	}
	if !r.decider.ReplacingDefault() {
		r.replacing = 0
	} else if r.replacing++; r.replacing > 1 {
		return httpd.Check{Name: "policy", Reason: "the default policy is being replaced, and the ledger does not confirm it; the log says why"}
	}
	return httpd.Check{Name: "policy", Ready: true, Reason: "the default policy is in force"}
}

// checkSigning signs and verifies a checkpoint that is never shown, with both keys.
func checkSigning(signer *attest.Signer, now time.Time) httpd.Check {
	var trial attest.Checkpoint
	_, err := rand.Read(trial.Stream[:])
	if err == nil {
		trial.LSN, trial.At = 1, now
		var signed []byte
		if signed, err = signer.SignCheckpoint(trial); err == nil {
			_, err = signer.CheckpointVerifier().Open(signed)
		}
	}
	if err != nil {
		return httpd.Check{Name: "signing", Reason: "the signing keys do not sign; look at them with bailiff doctor"}
	}
	return httpd.Check{Name: "signing", Ready: true, Reason: "both keys sign"}
}

func checkDisk(free uint64, err error) httpd.Check {
	switch {
	case err != nil:
		return httpd.Check{Name: "disk", Reason: "how much is free where the data is cannot be found out"}
	case free < NoBytes:
		return httpd.Check{Name: "disk", Reason: fmt.Sprintf("%d MiB are free where the data is, and %d have to be; make room", free>>20, NoBytes>>20)}
	case free < ScarceBytes:
		return httpd.Check{Name: "disk", Ready: true, Reason: fmt.Sprintf("only %d MiB are free where the data is; make room", free>>20)}
	}
	return httpd.Check{Name: "disk", Ready: true, Reason: "there is room where the data is"}
}

func checkClock(doubt *clock.Doubt) httpd.Check {
	if doubt != nil {
		return httpd.Check{Name: "clock", Reason: "it cannot be relied on, so nothing is decided; set it or, where it is right, confirm it with bailiff clock accept"}
	}
	return httpd.Check{Name: "clock", Ready: true, Reason: "it can be relied on"}
}

// Free space on the disk of the data below which the doctor warns, and below which it is a problem.
const (
	ScarceBytes = 1 << 30
	NoBytes     = 128 << 20
)

// freeBytes is how much is free on the disk of a folder.
func freeBytes(dir string) (uint64, error) {
	var disk syscall.Statfs_t
	err := syscall.Statfs(dir, &disk)
	return disk.Bavail * uint64(disk.Bsize), err
}

// checkSlots finds that this instance can't decide, or can't know which one does. That a slot is nowhere, as while another instance takes it, is no
// reason to send requests to another one: none of them has it.
func (r *service) checkSlots() httpd.Check {
	check := httpd.Check{Name: "ledger"}
	here, lost := 0, 0
	for slot := range r.many.Slots() {
		if stay, ok := r.many.Enter(slot); ok {
			stay.Leave()
			here++
		} else if owner := r.instanceOf(slot); owner.Gone == nil || owner.Peer == "" {
			lost++
		}
	}
	r.lost.Store(int64(lost))
	r.looked++ // what no instance has for long is no fault of this one, even where it is new
	r.found = r.found || lost == 0 || r.looked > int(foundLeases*time.Duration(r.settings.StoreLease)/readyEvery)
	if silent := r.store.Silent(); silent > 2*time.Duration(r.settings.StoreLease) {
		check.Reason = "the database does not answer"
		return check
	}
	if offset := r.store.Counts().Offset; here == 0 && offset.Abs() > pgledger.MaxClockOffset {
		check.Reason = fmt.Sprintf("the clock differs from the database's by %s, and %s is the most; have a time service set both", offset.Round(time.Millisecond), pgledger.MaxClockOffset)
		return check
	}
	check.Ready, check.Reason = r.found, fmt.Sprintf("%d of %d slots are here, and the others at instances that are known", here, r.many.Slots())
	if lost > 0 {
		check.Reason = fmt.Sprintf("no instance is known that has %d of %d slots", lost, r.many.Slots())
	}
	if refusing := r.many.Refusing(); refusing > 0 {
		check.Reason += fmt.Sprintf("; %d refuse the default policy, and are left to other instances: the log says why", refusing)
	}
	return check
}
