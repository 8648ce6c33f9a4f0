package e2e

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	api "bailiff/httpd/client"
	"bailiff/httpd/client/verify"
	"bailiff/runtime/clock"
	"bailiff/runtime/eventjson"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/system"
)

// lostPrimary kills the database, and promotes its standby.
func (f *failover) lostPrimary() string {
	f.primary.Kill()
	f.promote()
	return "primary killed, standby promoted"
}

// promote makes the standby the primary, which decides nothing while it has no standby of its own, and then gives it one.
func (f *failover) promote() {
	f.t.Helper()
	f.standby.Promote()
	time.Sleep(failoverLease / 4) // answers that were under way arrive
	before := f.answers.Load()
	time.Sleep(failoverLease / 4)
	if told := f.answers.Load() - before; told > 0 {
		f.t.Errorf("%d decisions were told by a primary without a standby", told)
	}
	f.standby.Standbys("standby")
	f.old, f.primary, f.standby = f.primary, f.standby, f.standby.NewStandby()
}

// frozePrimary has the primary hang, promotes its standby, and lets the primary run again, which must not be believed then.
func (f *failover) frozePrimary() string {
	thaw := f.primary.Freeze()
	f.promote()
	before := f.answers.Load()
	f.await("decisions continue while the primary hangs", func() bool { return f.answers.Load() > before+50 })
	thaw()
	return "primary frozen, standby promoted, primary back"
}

// onStandby freezes the primary, so that it sends nothing more, and reads the standby alone: it has every decision that was told by then.
func (f *failover) onStandby(after string) {
	f.t.Helper()
	thaw := f.primary.Freeze()
	defer thaw()
	f.mu.Lock()
	decisions := maps.Clone(f.told.decisions)
	f.mu.Unlock()
	var found []string
	for deadline := time.Now().Add(failoverLease / 2); ; time.Sleep(10 * time.Millisecond) { // it may have to replay the last ones
		log, err := f.standbyLog()
		if err != nil {
			f.t.Errorf("after %s the standby alone can't be read: %v", after, err)
			return
		}
		f.mu.Lock()
		by := f.told
		by.decisions = decisions
		found = by.problems(log)
		f.mu.Unlock()
		if len(found) == 0 || time.Now().After(deadline) {
			break
		}
	}
	if len(found) > 0 {
		f.t.Errorf("after %s, by the standby alone: %d problems of %d decisions, such as %s", after, len(found), len(decisions), found[0])
	}
}

// standbyLog returns the events that the standby has.
func (f *failover) standbyLog() (log []logged, err error) {
	store, err := pgledger.NewStore(pgledger.Options{
		URL: f.standby.URL(), Name: "reader", Lease: failoverLease, Trust: true, Environment: "production", Calls: system.Real(clock.System()),
	})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	for slot := range f.slots {
		one, err := f.standbySlot(store, slot)
		if err != nil {
			return nil, err
		}
		log = append(log, one...)
	}
	return log, nil
}

// standbySlot returns the events that the standby has of a slot.
func (f *failover) standbySlot(store *pgledger.Store, slot int) (log []logged, err error) {
	groups := memory.NewLog()
	err = store.Look(slot, func(from commit.Log) error {
		var kept error
		read := from.Read(1, func(first uint64, group []byte) bool {
			kept = groups.Append(first, append([]byte(nil), group...))
			return kept == nil
		})
		return errors.Join(read, kept)
	})
	if err != nil {
		return nil, err
	}
	l, err := commit.Open(groups, commit.Options{Random: rand.Reader})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	for query := (ledger.EventQuery{Limit: 1000, Examine: ledger.MaxEventPage}); ; {
		page, err := l.Events(context.Background(), query)
		if err != nil {
			return nil, err
		}
		for i := range page.Events {
			text, err := json.Marshal(eventjson.View(&page.Events[i]))
			var one logged
			if err == nil {
				err = json.Unmarshal(text, &one)
			}
			if err != nil {
				return nil, err
			}
			one.Slot = slot
			log = append(log, one)
		}
		if !page.More {
			return log, nil
		}
		query.After = page.Next
	}
}

// signsWhereItCame: an instance that passes a request on signs its attestation, and the one that decides does so for its own clients alone,
// as the stages say that each of them tells.
func (f *failover) signsWhereItCame(waiting, deciding *running) {
	f.t.Helper()
	fresh := func() string { return fmt.Sprintf("%064x", f.serial.Add(1)) } // f tells decisions apart by it
	for at, signs := range map[*running]bool{waiting: false, deciding: true} {
		body := strings.ReplaceAll(tool("bash", `"command":"ls","task_id":"signed"`), strings.Repeat("ab", 32), fresh())
		request, err := http.NewRequest(http.MethodPost, at.base+"/v1/authorize", strings.NewReader(body))
		if err != nil {
			f.t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+f.key)
		request.Header.Set("Server-Timing", "on")
		response, err := client.Do(request)
		if err != nil {
			f.t.Fatal(err)
		}
		response.Body.Close()
		if stages := response.Header.Get("Server-Timing"); response.StatusCode != 200 || strings.Contains(stages, "sign") != signs {
			f.t.Errorf("signed by the instance that decides: %t expected, and %d %q found", signs, response.StatusCode, stages)
		}
	}
	c, err := api.New(api.Config{URL: waiting.base, Key: f.key})
	if err != nil {
		f.t.Fatal(err)
	}
	keys, err := verify.New(c, "svc-core")
	if err != nil {
		f.t.Fatal(err)
	}
	commit := fresh()
	answer, err := c.Authorize(f.t.Context(), &api.Request{Framework: "custom", AgentID: "a-1", TxCommit: commit, Intent: api.Intent{Action: "bash", Command: "ls", TaskID: "signed"}})
	if err == nil {
		_, err = keys.Verify(f.t.Context(), answer.Attestation, verify.Expected{TxCommit: commit, PolicyHash: []string{answer.PolicyHash}}, time.Now())
	}
	if err != nil {
		f.t.Errorf("an attestation of an instance that passes requests on: %v", err)
	}
}
