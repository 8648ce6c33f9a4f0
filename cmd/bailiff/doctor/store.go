package doctor

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"bailiff/cmd/bailiff/client"
	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/ledger/state"
	"bailiff/runtime/system"
)

// examineStore asks the database that has the record.
func (p *Patient) examineStore() {
	s := p.settings
	if s.Store == "" {
		return
	}
	options, err := s.StoreOptions(system.Real(p.Clock))
	if err != nil {
		p.Add(Trouble, "store", "%v", err)
		return
	}
	options.Patience = client.StorePatience
	store, err := pgledger.NewStore(options)
	if err != nil {
		p.Add(Trouble, "store", "%v", err)
		return
	}
	defer store.Close()
	status, err := store.Status()
	if err != nil {
		p.Add(Trouble, "store", "%v", err)
		return
	}
	before := len(p.Findings)
	if s.EventRetention != 0 {
		if err := store.Drops(); err != nil {
			p.Add(Trouble, "store", "SVC_EVENT_RETENTION: %v", err)
		}
	}
	p.judgeStore(&status, options.Trust)
	if policies, err := store.Policies(); err != nil {
		p.Add(Trouble, "store", "%v", err)
	} else {
		p.judgePolicies(policies)
	}
	if before == len(p.Findings) {
		p.Add(Sound, "store", "PostgreSQL %s confirms on a second machine, and has %d records in %d slots of keys", status.Server, status.Records(), status.Keyed())
	}
}

// judgeStore adds the faults of a database.
func (p *Patient) judgeStore(status *pgledger.Status, trust bool) {
	switch {
	case status.Unsafe != "" && trust:
		p.Add(Doubt, "store", "%s", status.Unsafe)
	case status.Unsafe != "":
		p.Add(Trouble, "store", "%s", status.Unsafe)
	}
	switch {
	case status.Waits != "":
		p.Add(Trouble, "store", "too few standbys are connected for synchronous_standby_names = %q: nothing is decided until one is back, or the setting names one that is there", status.Waits)
	case status.Lone != "" && !trust:
		p.Add(Doubt, "store", "synchronous_standby_names is %q: losing one standby stops every decision until it is back or the setting names another one; with a second standby, ANY 1 (b, c) does without either", status.Lone)
	}
	if status.Moved != "" {
		p.Add(Trouble, "store", "the record was exported to %s, and no instance decides over the database; start the service on that folder, without SVC_STORE, or, if nothing has run on it, take that back with bailiff store export --undo", status.Moved)
	}
	if status.Changes {
		p.Add(Doubt, "store", "the role of SVC_STORE may change and remove records; let services use one that bailiff store init --role has prepared")
	}
	if now := state.Latest(); status.Writes < now {
		p.Add(Doubt, "store", "the level of the store is %d, and this release reads records up to %d; raise it when all instances are of this release: bailiff store level %d", status.Writes, now, now)
	}
	switch offset := status.Offset.Abs(); { // warned of at half of what an instance takes
	case offset > pgledger.MaxClockOffset:
		p.Add(Trouble, "store", "the database's clock differs from this machine's by %s, and this instance does not decide above %s; have a time service set both", offset.Round(time.Millisecond), pgledger.MaxClockOffset)
	case offset > pgledger.MaxClockOffset/2:
		p.Add(Doubt, "store", "the database's clock differs from this machine's by %s; an instance does not decide above %s", offset.Round(time.Millisecond), pgledger.MaxClockOffset)
	}
	if at := slices.IndexFunc(status.Slots, func(s pgledger.SlotStatus) bool { return s.Owner == "" }); p.running && at >= 0 {
		p.Add(Trouble, "store", "a service runs here, and no instance owns slot %d of the record; its log says why", at)
	}
}

// judgePolicies finds instances with different default policies.
func (p *Patient) judgePolicies(policies []pgledger.InstancePolicy) {
	same, said := true, []string(nil)
	for _, one := range policies {
		same = same && one.Policy == policies[0].Policy
		said = append(said, one.Instance+" has "+cmp.Or(one.Policy, "none"))
	}
	if !same {
		p.Add(Doubt, "store", "the default policies of the instances differ: %s; a key is judged by that of the instance that decides for it: give all of them the same file, reload those that decide, and restart those that wait", strings.Join(said, ", "))
	}
}
