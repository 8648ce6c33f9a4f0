package e2e

import (
	"crypto/sha256"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"bailiff/runtime/ledger"
)

var (
	operatorCode = regexp.MustCompile(`^open (http://localhost:[0-9]+)/\ncode (\S{43})\n`)
	tailedFrom   = regexp.MustCompile(`data-after="(\d+)"`)
)

// consoles signs a key in by way of an instance that has neither slot 0 nor the key's slot, follows the key's events there, and reads the operator's
// console at that instance.
func (f *failover) consoles(keys []registered, origin string) {
	f.t.Helper()
	first, owners := f.first(), f.owned()
	var key registered
	at := f.instances[slices.IndexFunc(f.instances, func(i *instance) bool {
		n := slices.IndexFunc(keys, func(k registered) bool {
			owner := owners[ledger.SlotOf(sha256.Sum256([]byte(k.APIKey)), len(owners))]
			return owner != first.name && owner != i.name
		})
		if i == first || n < 0 {
			return false
		}
		key = keys[n]
		return true
	})]
	b := &person{o: f.office(at, origin)}
	if got := b.send("/console/sign-in", url.Values{"key": {key.APIKey}}); got.status != 303 || got.location != "/console" {
		f.t.Fatalf("signing in where slot 0 is not: %d %s", got.status, got.text)
	}
	found := tailedFrom.FindStringSubmatch(b.wants("the events of a key", b.send("/console/events", nil), 200, "ALLOWED").text)
	if found == nil {
		f.t.Fatal("the page of events has no place to go on from")
	}
	told := make(chan sheet, 1)
	go func() {
		got, err := (&person{o: b.o, cookie: b.cookie}).try("/console/live?after="+found[1], nil)
		if err != nil {
			got.text = err.Error()
		}
		told <- got
	}()
	time.Sleep(100 * time.Millisecond) // most of the time the tail waits by then
	body := strings.Replace(tool("bash", `"command":"ls","task_id":"followed"`), strings.Repeat("ab", 32), strings.Repeat("cd", 32), 1)
	b.o.ask("/v1/authorize", key.APIKey, strings.Replace(body, "agent-1", "followed", 1))
	select {
	case got := <-told:
		if got.status != 200 || !strings.Contains(got.text, `"followed"`) {
			f.t.Errorf("the tail of a key of another slot: %d %s", got.status, got.text)
		}
	case <-time.After(time.Minute):
		f.t.Error("the tail of a key of another slot does not end")
	}
	f.operates(at, b, keys, key)
}

// operates reads the operator's console at an instance, and each page of it and of a key's console.
func (f *failover) operates(at *instance, b *person, keys []registered, key registered) {
	f.t.Helper()
	printed, err := f.on(at, "console", "--no-open")
	code := operatorCode.FindStringSubmatch(printed)
	if err != nil || code == nil {
		f.t.Fatalf("no code was made: %v %s", err, printed)
	}
	o := &person{o: &office{running: &running{site: f.site, base: strings.Replace(code[1], "localhost", "127.0.0.1", 1)}, origin: code[1]}}
	if got := o.send("/console/sign-in", url.Values{"code": {code[2]}}); got.status != 303 {
		f.t.Fatalf("the operator signs in: %d %s", got.status, got.text)
	}
	all := o.wants("all keys, and what they did last", o.send("/console/keys", nil), 200, "followed")
	for _, k := range keys {
		if !strings.Contains(all.text, k.KeyID) {
			f.t.Errorf("the operator's console lacks the key %s", k.KeyID)
		}
	}
	if got := o.send("/console/keys", url.Values{"key": {key.KeyID}}); got.status != 303 {
		f.t.Errorf("a key of another slot is chosen: %d %s", got.status, got.text)
	}
	for _, p := range []*person{b, o} {
		for _, path := range []string{"", "/events", "/holds", "/policy", "/webhooks", "/verify", "/hours.svg"} {
			p.wants(path, p.send("/console"+path, nil), 200, "")
		}
	}
}
