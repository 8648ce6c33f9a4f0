package suite

import (
	"errors"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
)

// laterCases are cases of the suite beside those of Run.
var laterCases = map[string]func(*fixture){
	"Pins": testPins, "PinBounds": testPinBounds, "PinRefusals": testPinRefusals,
	"Closed": testClosed, "Replays": testReplays, "ReplayBounds": testReplayBounds, "SetClock": testSetClock, "SetClockRight": testSetClockRight, "SetClockOnce": testSetClockOnce,
	"GroupBound": testGroupBound, "GroupsMakeRoom": testGroupsMakeRoom, "CrowdedKeys": testCrowdedKeys,
	"EventQueries": testEventQueries, "EventsOfKeys": testEventsOfKeys,
	"Disable": testDisable, "OutboxBound": testOutboxBound, "Malformed": testMalformed,
	"NamedKeys": testNamedKeys, "Serials": testSerials, "Defaults": testDefaults, "PendingHolds": testPendingHolds, "ReplacedDefault": testReplacedDefault, "DefaultSerials": testDefaultSerials,
	"Storage": testStorage, "StorageRace": testStorageRace,
}

// A binding is a step of a history of policies, and what is to become of it.
type binding struct {
	hash           byte
	named          bool
	serial         uint64
	refuse         bool
	want           error
	rollback, same bool
}

// bind deploys policies to the fixture's key, one after the other.
func (f *fixture) bind(steps ...binding) {
	f.Helper()
	for i, step := range steps {
		d := f.deployment(step.hash)
		d.Named, d.Serial, d.RefuseRollback = step.named, step.serial, step.refuse
		done, err := f.l.Deploy(f.Context(), d)
		if !errors.Is(err, step.want) || step.want == nil && (err != nil || done.Rollback != step.rollback || done.Same != step.same) {
			f.Fatalf("step %d, %+v: %+v, %v", i, step, done, err)
		}
		if err == nil {
			f.key = done.Key
		}
	}
}

// testNamedKeys: a key that a policy has named takes only policies that name it.
func testNamedKeys(f *fixture) {
	f.bind(
		binding{hash: 1},
		binding{hash: 2, named: true},
		binding{hash: 3, want: ledger.ErrNotNamed},
		binding{hash: 1, want: ledger.ErrNotNamed},
		binding{hash: 2, same: true}, // the bytes in force, whatever they say
		binding{hash: 4, named: true},
		binding{hash: 5, want: ledger.ErrNotNamed},
	)
}

// testSerials: a key that has had a serial takes only higher ones, or the policy in force again.
func testSerials(f *fixture) {
	f.bind(
		binding{hash: 1},
		binding{hash: 2, serial: 7, refuse: true},
		binding{hash: 3, want: ledger.ErrSerial},
		binding{hash: 3, serial: 7, want: ledger.ErrSerial},
		binding{hash: 3, serial: 6, want: ledger.ErrSerial},
		binding{hash: 1, want: ledger.ErrRollback},
		binding{hash: 2, serial: 7, same: true, refuse: true},
		binding{hash: 3, serial: 8, named: true},
		binding{hash: 2, serial: 7, named: true, want: ledger.ErrSerial},
		binding{hash: 3, serial: 8, named: true, same: true},
	)
	views, err := f.l.Deployments(f.Context(), f.key.ID)
	if err != nil || len(views) != 5 || views[3].Serial != 8 || !views[3].Named || views[1].Named {
		f.Fatalf("deployments: %+v, %v", views, err)
	}
}

// bindDefault binds a default policy.
func (f *fixture) bindDefault(d ledger.DefaultPolicy, want error) ledger.BoundDefault {
	f.Helper()
	d.At = f.at
	bound, err := f.l.BindDefault(f.Context(), &d)
	if !errors.Is(err, want) || want == nil && err != nil {
		f.Fatalf("BindDefault %+v: %v, want %v", d, err, want)
	}
	return bound
}

// testDefaults: what governed a key as the default policy counts as if the key had deployed it.
func testDefaults(f *fixture) {
	f.bindDefault(ledger.DefaultPolicy{PolicyHash: [32]byte{1}, Known: true}, ledger.ErrNotFound)
	f.bindDefault(ledger.DefaultPolicy{PolicyHash: [32]byte{1}}, nil)
	f.bindDefault(ledger.DefaultPolicy{PolicyHash: [32]byte{1}, Known: true}, nil)
	f.bindDefault(ledger.DefaultPolicy{PolicyHash: [32]byte{2}, Named: true, Keys: []ledger.ID{ledgertest.ID('k', 9)}}, nil)
	f.bindDefault(ledger.DefaultPolicy{PolicyHash: [32]byte{3}}, nil)
	if bound := f.bindDefault(ledger.DefaultPolicy{PolicyHash: [32]byte{3}}, nil); !bound.Same || bound.Rollback {
		f.Fatalf("the same again: %+v", bound)
	}
	f.bind(
		binding{hash: 1, refuse: true, want: ledger.ErrRollback},
		binding{hash: 3, same: true, refuse: true},
		binding{hash: 2, refuse: true}, // it was for another key
		binding{hash: 3, refuse: true, want: ledger.ErrRollback},
	)
	f.bindDefault(ledger.DefaultPolicy{PolicyHash: [32]byte{4}}, nil)
	f.bind(binding{hash: 4, refuse: true}) // by then the key had a policy of its own

	f.key = f.newKey(2)
	f.bind(
		binding{hash: 3, refuse: true}, // it was replaced before there was the key
		binding{hash: 4, refuse: true, want: ledger.ErrRollback},
	)
	if bound := f.bindDefault(ledger.DefaultPolicy{PolicyHash: [32]byte{1}}, nil); bound.Same || !bound.Rollback {
		f.Fatalf("an earlier one: %+v", bound)
	}
	page, err := f.l.Events(f.Context(), ledger.EventQuery{Limit: ledger.MaxEventPage})
	if err != nil {
		f.Fatal(err)
	}
	log := page.Events
	f.equal("event", log[len(log)-1], ledger.LoggedEvent{
		LSN: log[len(log)-1].LSN, Kind: ledger.DefaultBound, At: f.at, Event: ledger.Event{PolicyHash: [32]byte{1}}, Rollback: true,
	})
}

// testReplacedDefault: what was judged by a default policy that another one has replaced is stale, and records nothing.
func testReplacedDefault(f *fixture) {
	judgedBy := func(hash byte) *ledger.Plan {
		p := f.plan()
		p.Default = [32]byte{hash}
		return p
	}
	f.want(judgedBy(1), ledger.Passed, ledger.Allowed) // no default policy is known
	f.bindDefault(ledger.DefaultPolicy{PolicyHash: [32]byte{1}}, nil)
	f.want(judgedBy(1), ledger.Passed, ledger.Allowed)
	f.bindDefault(ledger.DefaultPolicy{PolicyHash: [32]byte{2}}, nil)
	if got := f.want(judgedBy(1), ledger.Stale, ledger.NoDecision); got.LSN != 0 {
		f.Fatalf("a stale plan was recorded: %+v", got)
	}
	f.want(judgedBy(2), ledger.Passed, ledger.Allowed)
	f.want(f.plan(), ledger.Passed, ledger.Allowed) // judged by another policy than the default
	use := f.use(1)
	use.Default = [32]byte{1}
	f.wantErr("judged by the one before", f.l.UseOnce(f.Context(), use), ledger.ErrStale)
	use.Default = [32]byte{2}
	f.wantErr("judged by the one in force", f.l.UseOnce(f.Context(), use), nil)
}

// testDefaultSerials: default policies have serials and names, too.
func testDefaultSerials(f *fixture) {
	if bound := f.bindDefault(ledger.DefaultPolicy{}, nil); !bound.Same {
		f.Fatalf("none after none: %+v", bound)
	}
	f.bindDefault(ledger.DefaultPolicy{PolicyHash: [32]byte{1}, Serial: 5, Named: true, Keys: []ledger.ID{f.key.ID}}, nil)
	f.bindDefault(ledger.DefaultPolicy{PolicyHash: [32]byte{2}}, ledger.ErrSerial)
	f.bindDefault(ledger.DefaultPolicy{PolicyHash: [32]byte{2}, Serial: 5}, ledger.ErrSerial)
	f.bindDefault(ledger.DefaultPolicy{}, nil) // hosted for a while
	f.bindDefault(ledger.DefaultPolicy{PolicyHash: [32]byte{2}, Serial: 4}, ledger.ErrSerial)
	f.bindDefault(ledger.DefaultPolicy{PolicyHash: [32]byte{1}, Serial: 5, Named: true, Keys: []ledger.ID{f.key.ID}}, nil)
	f.bind(
		binding{hash: 3, serial: 6, want: ledger.ErrNotNamed},
		binding{hash: 3, named: true, want: ledger.ErrSerial},
		binding{hash: 1, same: true}, // now it is the key's own
	)
	other := f.newKey(2)
	f.key = other
	f.bind(binding{hash: 3}) // the default policy does not name it
	mirrored := f.deployment(4)
	mirrored.Key, mirrored.Mirrored = f.newKey(3).ID, true
	if _, err := f.l.Deploy(f.Context(), mirrored); err != nil {
		f.Fatalf("mirrored: %v", err)
	}
	f.bindDefault(ledger.DefaultPolicy{PolicyHash: [32]byte{9}, Keys: []ledger.ID{other.ID}}, ledger.ErrInvalid)
	f.bindDefault(ledger.DefaultPolicy{PolicyHash: [32]byte{9}, Named: true, Keys: make([]ledger.ID, ledger.MaxNamedKeys+1)}, ledger.ErrInvalid)
	if f.suite.Reopen != nil {
		f.l = f.suite.Reopen(f.T, f.l)
		f.bindDefault(ledger.DefaultPolicy{PolicyHash: [32]byte{2}, Serial: 5}, ledger.ErrSerial)
		if bound := f.bindDefault(ledger.DefaultPolicy{PolicyHash: [32]byte{1}, Serial: 5}, nil); !bound.Same {
			f.Fatalf("after opening again: %+v", bound)
		}
	}
}
