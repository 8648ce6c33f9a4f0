package suite

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/subject"
)

// deployment returns a deployment of policy number n to the fixture's key.
func (f *fixture) deployment(n byte) *ledger.Deployment {
	return &ledger.Deployment{
		Key: f.key.ID, At: f.at, Operator: [32]byte{'o'}, PolicyHash: [32]byte{n}, PolicyVersion: "2.3.0",
		Text: []byte("version: 2.3.0\n"), Program: []byte{n}, Machine: 3,
	}
}

// deploy deploys and takes over the key as it is then.
func (f *fixture) deploy(d *ledger.Deployment) ledger.Deployed {
	f.Helper()
	done, err := f.l.Deploy(f.Context(), d)
	if err != nil {
		f.Fatalf("Deploy: %v", err)
	}
	f.key = done.Key
	return done
}

func testChangeKey(f *fixture) {
	change := ledger.KeyChange{ID: f.key.ID, At: f.at, Tier: "growth", Scopes: ledger.AllScopes}
	got, err := f.l.ChangeKey(f.Context(), change)
	want := f.key
	want.Tier, want.Scopes = "growth", ledger.AllScopes
	if err != nil || got != want {
		f.Fatalf("ChangeKey: %+v, %v", got, err)
	}
	if found, ok := f.l.LookupKeyID(f.key.ID); !ok || *found != want {
		f.Fatalf("looked up: %+v", found)
	}
	log := f.events()
	f.equal("event", log[len(log)-1], ledger.LoggedEvent{LSN: log[len(log)-1].LSN, Kind: ledger.KeyChanged, Key: f.key.ID, At: f.at, Tier: "growth", Scopes: ledger.AllScopes})
	f.equal("event of the creation", log[0], ledger.LoggedEvent{LSN: 1, Kind: ledger.KeyCreated, Key: f.key.ID, At: log[0].At, Tier: f.key.Tier, Scopes: f.key.Scopes})
	f.allow(f.plan()) // the epoch stays
	for name, spoil := range map[string]func(*ledger.KeyChange){
		"tier": func(c *ledger.KeyChange) { c.Tier = "" }, "scopes": func(c *ledger.KeyChange) { c.Scopes = 8 }, "time": func(c *ledger.KeyChange) { c.At = -1 },
	} {
		bad := change
		spoil(&bad)
		_, err := f.l.ChangeKey(f.Context(), bad)
		f.wantErr(name, err, ledger.ErrInvalid)
	}
	change.ID = ledgertest.ID('k', 9)
	_, err = f.l.ChangeKey(f.Context(), change)
	f.wantErr("no key", err, ledger.ErrNotFound)
	if _, ok := f.l.LookupKeyID(change.ID); ok {
		f.Fatal("found a key that nobody created")
	}
	if _, err := f.l.RevokeKey(f.Context(), f.key.ID, f.at); err != nil {
		f.Fatal(err)
	}
	change.ID = f.key.ID
	_, err = f.l.ChangeKey(f.Context(), change)
	f.wantErr("a revoked key", err, ledger.ErrKeyRevoked)
}

// testPinnedKey has a key whose operator is fixed from the start.
func testPinnedKey(f *fixture) {
	key := ledgertest.NewKey(2)
	key.Operator, key.Organization = [32]byte{'s'}, "Example Inc."
	if err := f.l.CreateKey(f.Context(), key); err != nil {
		f.Fatal(err)
	}
	key.Epoch = 1
	if got, ok := f.l.LookupKey(key.Hash); !ok || *got != key {
		f.Fatalf("created: %+v", got)
	}
	d := f.deployment(1)
	d.Key = key.ID
	_, err := f.l.Deploy(f.Context(), d)
	f.wantErr("another operator", err, ledger.ErrOperator)
	d.Operator = key.Operator
	f.deploy(d)
	bad := ledgertest.NewKey(3)
	bad.PolicyHash = [32]byte{1}
	f.wantErr("a key with a policy", f.l.CreateKey(f.Context(), bad), ledger.ErrInvalid)
}

func testDeploy(f *fixture) {
	_, err := f.l.Policy(f.Context(), f.key.ID)
	f.wantErr("no policy yet", err, ledger.ErrNotFound)
	before := f.plan()
	d := f.deployment(1)
	d.Text, d.Program = bytes.Repeat([]byte("t"), ledger.MaxPolicyText), bytes.Repeat([]byte("p"), ledger.MaxProgram)
	first := f.deploy(d)
	if f.key.Epoch != 2 || f.key.Operator != d.Operator || f.key.PolicyHash != d.PolicyHash || f.key.PolicyLSN != first.LSN || first.At != f.at {
		f.Fatalf("deployed: %+v", first)
	}
	if got, _ := f.l.LookupKey(f.key.Hash); *got != f.key {
		f.Fatalf("looked up: %+v", got)
	}
	f.want(before, ledger.Stale, ledger.NoDecision)
	f.allow(f.plan())
	got, err := f.l.Policy(f.Context(), f.key.ID)
	if err != nil {
		f.Fatal(err)
	}
	if !bytes.Equal(got.Text, d.Text) || !bytes.Equal(got.Program, d.Program) {
		f.Fatalf("policy with a text of %d bytes and a program of %d, or with others", len(got.Text), len(got.Program))
	}
	got.Text, got.Program = nil, nil
	f.equal("policy", got, ledger.StoredPolicy{Operator: d.Operator, PolicyHash: d.PolicyHash, Version: "2.3.0", Machine: 3, At: f.at})
	f.at += hour
	second := f.deploy(f.deployment(2))
	f.at -= hour // the key's time does not go back
	again, back := f.deploy(f.deployment(2)), f.deploy(f.deployment(1))
	if second.Same || second.Rollback || !again.Same || again.Rollback || back.Same || !back.Rollback || back.At != f.at+hour {
		f.Fatalf("second %+v, again %+v, back %+v", second, again, back)
	}
	all, err := f.l.Deployments(f.Context(), f.key.ID)
	if err != nil {
		f.Fatal(err)
	}
	f.equal("deployments", all, []ledger.DeploymentView{
		{PolicyHash: [32]byte{1}, At: f.at, LSN: first.LSN}, {PolicyHash: [32]byte{2}, At: f.at + hour, LSN: second.LSN},
		{PolicyHash: [32]byte{2}, At: f.at + hour, LSN: again.LSN}, {PolicyHash: [32]byte{1}, At: f.at + hour, LSN: back.LSN, Rollback: true},
	})
	last := f.events()[5]
	if last.Kind != ledger.PolicyBound || !last.Rollback || last.Event.PolicyHash != [32]byte{1} || last.LSN != back.LSN {
		f.Fatalf("event: %+v", last)
	}
}

func testDeployRefusals(f *fixture) {
	f.deploy(f.deployment(1))
	f.deploy(f.deployment(2))
	for name, c := range map[string]struct {
		spoil func(*ledger.Deployment)
		want  error
	}{
		"operator":   {func(d *ledger.Deployment) { d.Operator = [32]byte{'x'} }, ledger.ErrOperator},
		"rollback":   {func(d *ledger.Deployment) { d.PolicyHash, d.RefuseRollback = [32]byte{1}, true }, ledger.ErrRollback},
		"no key":     {func(d *ledger.Deployment) { d.Key = ledgertest.ID('k', 9) }, ledger.ErrNotFound},
		"expired":    {func(d *ledger.Deployment) { d.Activation = &ledger.Activation{Expires: f.at} }, ledger.ErrExpired},
		"no text":    {func(d *ledger.Deployment) { d.Text = nil }, ledger.ErrInvalid},
		"long text":  {func(d *ledger.Deployment) { d.Text = make([]byte, ledger.MaxPolicyText+1) }, ledger.ErrInvalid},
		"long code":  {func(d *ledger.Deployment) { d.Program = make([]byte, ledger.MaxProgram+1) }, ledger.ErrInvalid},
		"no hash":    {func(d *ledger.Deployment) { d.PolicyHash = [32]byte{} }, ledger.ErrInvalid},
		"time":       {func(d *ledger.Deployment) { d.At = -1 }, ledger.ErrInvalid},
		"activation": {func(d *ledger.Deployment) { d.Activation = &ledger.Activation{} }, ledger.ErrInvalid},
	} {
		d := f.deployment(3)
		c.spoil(d)
		_, err := f.l.Deploy(f.Context(), d)
		f.wantErr(name, err, c.want)
	}
	same := f.deployment(2)
	same.RefuseRollback = true
	f.deploy(same) // what is in force is no rollback
	all, _ := f.l.Deployments(f.Context(), f.key.ID)
	if got, _ := f.l.LookupKey(f.key.Hash); len(all) != 3 || *got != f.key {
		f.Fatalf("a refusal has changed something: %+v", all)
	}
	if _, err := f.l.RevokeKey(f.Context(), f.key.ID, f.at); err != nil {
		f.Fatal(err)
	}
	_, err := f.l.Deploy(f.Context(), f.deployment(3))
	f.wantErr("revoked", err, ledger.ErrKeyRevoked)
}

// testFirstDeployments has two operators race for a key: one pins it.
func testFirstDeployments(f *fixture) {
	for n := range uint64(20) {
		key := f.newKey(100 + n)
		errs := make([]error, 2)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				d := f.deployment(1)
				d.Key, d.Operator = key.ID, [32]byte{byte(i + 1)}
				_, errs[i] = f.l.Deploy(context.Background(), d)
			})
		}
		wg.Wait()
		winner := slices.Index(errs, nil)
		if winner < 0 || !errors.Is(errs[1-winner], ledger.ErrOperator) {
			f.Fatalf("two first deployments: %v", errs)
		}
		if got, _ := f.l.LookupKey(key.Hash); got.Operator != [32]byte{byte(winner + 1)} || got.Epoch != 2 {
			f.Fatalf("pinned: %+v", got)
		}
	}
}

// testActivations has one activation used by many keys at once, of which one may.
func testActivations(f *fixture) {
	activation := &ledger.Activation{ID: [32]byte{'a'}, Expires: f.at + hour}
	var used, refused atomic.Int64
	var wg sync.WaitGroup
	for n := range uint64(16) {
		d := f.deployment(1)
		d.Key, d.Activation = f.newKey(100+n).ID, activation
		wg.Go(func() {
			switch _, err := f.l.Deploy(context.Background(), d); {
			case err == nil:
				used.Add(1)
			case errors.Is(err, ledger.ErrUsed):
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	if used.Load() != 1 || refused.Load() != 15 {
		f.Fatalf("%d used the activation, %d were refused", used.Load(), refused.Load())
	}
	// It expires for one key, others make the table forget it, and a key whose time is still tries again.
	late := f.newKey(200)
	for n := range byte(8) {
		d := f.deployment(n + 1)
		d.Key, d.At, d.Activation = late.ID, f.at+2*hour, &ledger.Activation{ID: [32]byte{'b', n}, Expires: f.at + 3*hour}
		if _, err := f.l.Deploy(f.Context(), d); err != nil {
			f.Fatal(err)
		}
	}
	d := f.deployment(1)
	d.Activation = activation
	if _, err := f.l.Deploy(f.Context(), d); !errors.Is(err, ledger.ErrUsed) && !errors.Is(err, ledger.ErrExpired) {
		f.Fatalf("an activation was used twice: %v", err)
	}
}

func (f *fixture) use(n uint64) *ledger.Use {
	return &ledger.Use{
		Key: f.key.ID, Epoch: f.key.Epoch, Token: ledgertest.ID('t', n), Expires: f.at + hour, At: f.at,
		Event: ledger.Event{Endpoint: "/rpc", AgentID: "agent", Action: "wallet.transfer", ChainID: 1, Commitment: [32]byte{7}, PolicyHash: [32]byte{8}},
	}
}

func testUseOnce(f *fixture) {
	u := f.use(1)
	f.wantErr("first", f.l.UseOnce(f.Context(), u), nil)
	f.wantErr("second", f.l.UseOnce(f.Context(), u), ledger.ErrUsed)
	foreign := f.use(1)
	foreign.Key = f.newKey(2).ID
	f.wantErr("by another key", f.l.UseOnce(f.Context(), foreign), ledger.ErrUsed)
	event := f.events()[1]
	f.equal("event", event, ledger.LoggedEvent{LSN: event.LSN, Kind: ledger.AttestationUsed, Key: f.key.ID, At: f.at, Token: u.Token, Event: u.Event})
	for name, c := range map[string]struct {
		spoil func(*ledger.Use)
		want  error
	}{
		"expired":     {func(u *ledger.Use) { u.Expires = u.At }, ledger.ErrExpired},
		"stale":       {func(u *ledger.Use) { u.Epoch++ }, ledger.ErrStale},
		"unknown key": {func(u *ledger.Use) { u.Key = ledgertest.ID('k', 9) }, ledger.ErrKeyRevoked},
		"no token":    {func(u *ledger.Use) { u.Token = ledger.ID{} }, ledger.ErrInvalid},
		"time":        {func(u *ledger.Use) { u.At = -1 }, ledger.ErrInvalid},
	} {
		u := f.use(2)
		c.spoil(u)
		f.wantErr(name, f.l.UseOnce(f.Context(), u), c.want)
	}
	f.at += 2 * hour
	late := *u
	late.At = f.at
	f.wantErr("expired", f.l.UseOnce(f.Context(), &late), ledger.ErrExpired)
	for n := range uint64(20) { // long after, others make the table forget it
		f.wantErr("others", f.l.UseOnce(f.Context(), f.use(10+n)), nil)
	}
	f.at -= 2 * hour
	if err := f.l.UseOnce(f.Context(), foreign); !errors.Is(err, ledger.ErrUsed) && !errors.Is(err, ledger.ErrExpired) {
		f.Fatalf("an attestation was used twice: %v", err)
	}
	if _, err := f.l.RevokeKey(f.Context(), f.key.ID, f.at); err != nil {
		f.Fatal(err)
	}
	f.wantErr("revoked", f.l.UseOnce(f.Context(), f.use(3)), ledger.ErrKeyRevoked)
}

// testUseOnceRace has 32 goroutines use the same attestations.
func testUseOnceRace(f *fixture) {
	for n := range uint64(10) {
		var used, refused atomic.Int64
		var wg sync.WaitGroup
		for range 32 {
			u := f.use(n)
			wg.Go(func() {
				switch err := f.l.UseOnce(context.Background(), u); {
				case err == nil:
					used.Add(1)
				case errors.Is(err, ledger.ErrUsed):
					refused.Add(1)
				}
			})
		}
		wg.Wait()
		if used.Load() != 1 || refused.Load() != 31 {
			f.Fatalf("%d used the attestation, %d were refused", used.Load(), refused.Load())
		}
	}
}

func testExpireHolds(f *fixture) {
	expire := func(limit, want int) {
		f.Helper()
		if n, err := f.l.ExpireHolds(f.Context(), f.at, limit); err != nil || n != want {
			f.Fatalf("ExpireHolds at %d: %d, %v; want %d", f.at-ledgertest.Start, n, err, want)
		}
	}
	first := f.want(f.held(1), ledger.Held, ledger.Pending)
	resolved := f.want(f.held(2), ledger.Held, ledger.Pending)
	f.mustResolve(resolved.Hold, true)
	f.at += hour
	second := f.want(f.held(3), ledger.Held, ledger.Pending)
	expire(10, 0)
	f.at = first.HoldExpires - 1
	expire(10, 0)
	f.at++
	f.want(f.held(4), ledger.Held, ledger.Pending) // has the key forget what has expired
	expire(10, 1)
	expire(10, 0)
	f.at = second.HoldExpires
	f.want(f.held(3), ledger.Held, ledger.Pending) // opened anew; the old one has expired all the same
	expire(1, 1)
	expire(1, 0)
	var expired []ledger.ID
	for _, e := range f.events() {
		if e.Kind == ledger.HoldExpired {
			expired = append(expired, e.Hold)
		}
	}
	f.equal("expired", expired, []ledger.ID{first.Hold, second.Hold})
	_, err := f.l.ExpireHolds(f.Context(), f.at, 0)
	f.wantErr("no limit", err, ledger.ErrInvalid)
	f.at += 2 * day
	expire(1, 1)
	expire(5, 1)
}

func testEventQueries(f *fixture) {
	var lsns []uint64
	for i := range 30 {
		f.at = ledgertest.Start + int64(i)*hour
		p := f.plan()
		switch i % 3 {
		case 1:
			p = f.denied()
		case 2:
			p = f.held(byte(i))
		}
		p.Event.AgentID = "agent-" + strconv.Itoa(i%10)
		p.Event.Action = "action-" + strconv.Itoa(i%7)
		p.Event.Subject.Set(subject.Task, "task-"+strconv.Itoa(i%15))
		lsns = append(lsns, f.submit(p).LSN)
	}
	late := f.newKey(2) // a key of its own time, after all of these in the log
	p := f.plan()
	p.Key, p.At = late.ID, ledgertest.Start+3*hour
	last := f.submit(p).LSN
	rule := f.denied().Pass.Rule
	for name, c := range map[string]struct {
		query ledger.EventQuery
		want  []uint64
	}{
		"from, to":        {ledger.EventQuery{From: ledgertest.Start + 2*hour, To: ledgertest.Start + 4*hour}, []uint64{lsns[2], lsns[3], last}},
		"from, to of key": {ledger.EventQuery{From: ledgertest.Start + 2*hour, To: ledgertest.Start + 4*hour, Key: f.key.ID}, lsns[2:4]},
		"from":            {ledger.EventQuery{From: ledgertest.Start + 28*hour}, lsns[28:]},
		"to":              {ledger.EventQuery{To: ledgertest.Start + 1, Decision: ledger.Allowed}, lsns[:1]},
		"decision":        {ledger.EventQuery{Decision: ledger.Denied, To: ledgertest.Start + 8*hour}, []uint64{lsns[1], lsns[4], lsns[7]}},
		"rule":            {ledger.EventQuery{Rule: rule, From: ledgertest.Start + 20*hour}, []uint64{lsns[22], lsns[25], lsns[28]}},
		"another rule":    {ledger.EventQuery{Rule: rule + "x"}, nil},
		"agent":           {ledger.EventQuery{Agent: "agent-4"}, []uint64{lsns[4], lsns[14], lsns[24]}},
		"agent, action":   {ledger.EventQuery{Agent: "agent-4", Action: "action-3"}, lsns[24:25]},
		"task":            {ledger.EventQuery{Task: "task-14"}, []uint64{lsns[14], lsns[29]}},
		"task, decision":  {ledger.EventQuery{Task: "task-14", Decision: ledger.Allowed}, nil},
		"another task":    {ledger.EventQuery{Task: "task-99"}, nil},
		"after":           {ledger.EventQuery{After: lsns[27], Decision: ledger.Pending}, lsns[29:]},
		"a time to come":  {ledger.EventQuery{From: ledgertest.Start + 1000*hour}, nil},
	} {
		f.pages(name, c.query, c.want)
	}
	_, err := f.l.Events(f.Context(), ledger.EventQuery{Limit: 1, Examine: -1})
	f.wantErr("a negative bound", err, ledger.ErrInvalid)
}

// pages reads the pages that a query asks for, of several sizes, and wants certain records in them.
func (f *fixture) pages(name string, query ledger.EventQuery, want []uint64) {
	for _, examine := range []int{0, 1, 7} {
		q, got := query, []uint64(nil)
		for more := true; more; {
			q.Limit, q.Examine = 2, examine
			page, err := f.l.Events(f.Context(), q)
			if err != nil || len(page.Events) > 2 || page.More && page.Next <= q.After || examine > 0 && len(page.Events) > examine {
				f.Fatalf("%s: %+v, %v", name, page, err)
			}
			for _, e := range page.Events {
				got = append(got, e.LSN)
			}
			q.After, more = page.Next, page.More
		}
		if !slices.Equal(got, want) {
			f.Errorf("%s, %d at a time: %v, want %v", name, examine, got, want)
		}
	}
}

func testHead(f *fixture) {
	one, err := f.l.Head(f.Context())
	if err != nil || one.LSN != 1 || one.Hash == [32]byte{} || one.Stream == [16]byte{} {
		f.Fatalf("Head: %+v, %v", one, err)
	}
	lsn := f.allow(f.plan()).LSN
	two, err := f.l.Head(f.Context())
	if err != nil || two.LSN != lsn || two.Hash == one.Hash || two.Stream != one.Stream {
		f.Fatalf("Head: %+v, %v", two, err)
	}
	dry := f.plan()
	dry.TestRun = true
	lsn = f.submit(dry).LSN // nobody waits for it
	for range 2 {
		if err := f.l.Flush(f.Context()); err != nil {
			f.Fatalf("Flush: %v", err)
		}
	}
	if three, err := f.l.Head(f.Context()); err != nil || three.LSN != lsn || lsn == two.LSN {
		f.Fatalf("Head after a test-run: %+v, %v; its record is %d", three, err, lsn)
	}
}

// testRotation: what an earlier key of the operator's has deployed stays, and it deploys nothing more, also after a start.
func testRotation(f *fixture) {
	d := f.deployment(1)
	f.deploy(d)
	f.wantErr("rotating", f.l.RotateOperator(f.Context(), &ledger.Rotation{From: d.Operator, To: [32]byte{'n'}, At: f.at}), nil)
	if f.suite.Reopen != nil {
		f.l = f.suite.Reopen(f.T, f.l)
	}
	stored, err := f.l.Policy(f.Context(), f.key.ID)
	f.equal("the policy's operator", stored.Operator, d.Operator)
	f.wantErr("reading the policy", err, nil)
	_, err = f.l.Deploy(f.Context(), d)
	f.wantErr("deploying", err, ledger.ErrOperator)
}

// testHalt: a suspended key and a frozen service refuse plans, uses, deployments and resolutions, and attestations from before stay
// void afterwards; a statement counts once.
func testHalt(f *fixture) {
	f.newKey(2)
	f.hook(1, ledger.PolicyDeployed)
	halt := func(key ledger.ID, stop bool, serial uint64) *ledger.Halt {
		h := &ledger.Halt{Key: key, Stop: stop, At: f.at, Reason: "drill"}
		if serial > 0 {
			h.Signed = &ledger.HaltStatement{Serial: serial, At: f.at / 1e9, Signature: [64]byte{1}}
		}
		return h
	}
	current := func() ledger.Key {
		key, found := f.l.LookupKeyID(f.key.ID)
		if !found {
			f.Fatal("the key is gone")
		}
		return *key
	}
	for i, key := range []ledger.ID{f.key.ID, {}} {
		serial := uint64(2*i + 1)
		f.wantErr("stopping", f.l.Halt(f.Context(), halt(key, true, serial)), nil)
		plan := f.plan()
		plan.Epoch = current().Epoch
		if got := f.l.Submit(plan).Outcome().Result; got != ledger.Halted {
			f.Fatalf("a plan while stopped: %s", got)
		}
		use := f.use(uint64(10 + i))
		use.Epoch, use.Issued = current().Epoch, f.at/1e9*1e9
		f.wantErr("using while stopped", f.l.UseOnce(f.Context(), use), ledger.ErrHalted)
		f.changesWhileStopped(uint64(100 * (i + 1)))
		f.wantErr("the same statement again", f.l.Halt(f.Context(), halt(key, true, serial)), ledger.ErrStatementSerial)
		f.wantErr("stopping what is stopped", f.l.Halt(f.Context(), halt(key, true, 0)), nil)
		f.wantErr("going on", f.l.Halt(f.Context(), halt(key, false, serial+1)), nil)
		use.Epoch = current().Epoch
		f.wantErr("using what was issued before", f.l.UseOnce(f.Context(), use), ledger.ErrHalted)
		f.at += 2e9
		use.At, use.Issued, use.Expires = f.at, f.at/1e9*1e9, f.at+60e9
		f.wantErr("using what was issued since", f.l.UseOnce(f.Context(), use), nil)
		plan = f.plan()
		plan.Epoch = current().Epoch
		if got := f.l.Submit(plan).Outcome().Result; got != ledger.Passed {
			f.Fatalf("a plan after it went on: %s", got)
		}
	}
	if frozen := f.l.Frozen(); frozen.Stopped() || frozen.Last == 0 || frozen.Serial != 4 || frozen.Reason != "drill" {
		f.Fatalf("%+v", frozen)
	}
	f.wantErr("a key that is not there", f.l.Halt(f.Context(), halt(ledgertest.ID('k', 9), true, 0)), ledger.ErrNotFound)
	bad := halt(f.key.ID, true, 0)
	bad.Reason = string(make([]byte, ledger.MaxHaltReason+1))
	f.wantErr("a long reason", f.l.Halt(f.Context(), bad), ledger.ErrInvalid)
}
