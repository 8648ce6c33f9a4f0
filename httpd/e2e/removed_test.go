package e2e

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bailiff/fuzz/kit/port"
)

// office has the pages of approvers at the address of an instance.
func (f *failover) office(at *instance, origin string) *office {
	site := *f.site
	site.env = at.env
	return &office{running: &running{site: &site, base: at.address()}, origin: origin}
}

// first returns the instance that has slot 0.
func (f *failover) first() *instance {
	f.t.Helper()
	var found *instance
	f.await("an instance has slot 0", func() bool {
		owner := f.owned()[0]
		n := slices.IndexFunc(f.instances, func(i *instance) bool { return i.name == owner })
		if n >= 0 {
			found = f.instances[n]
		}
		return n >= 0
	})
	return found
}

// reachedAt starts all instances again, whose approvers reach them at an origin.
func (f *failover) reachedAt(origin string) {
	f.t.Helper()
	for _, i := range f.instances {
		i.mu.Lock()
		i.env = append(i.env, "SVC_PUBLIC_URL="+origin)
		i.mu.Unlock()
		i.becomes(binary)
	}
	f.share()
}

// TestRemovedApprover removes an approver while the instance that has her session, and all that it knew of her, is paused for longer than its
// lease. From the moment at which the command returns nothing is approved that she has signed before, whichever instance is asked, however
// late it hears of it, and neither after the one that recorded it is lost.
func TestRemovedApprover(t *testing.T) {
	t.Parallel()
	port, err := port.Free()
	if err != nil {
		t.Fatal(err)
	}
	origin := "http://localhost:" + port
	f := newFailoverOf(t, true, 4, "a", "b", "c")
	defer f.end()
	f.reachedAt(origin)
	first := f.first()
	at := f.office(first, origin)
	alice := at.approver("alice", "--sections", "tool_calls", "--without-amount")
	const holds = 9
	keys, forms, paths := make([]string, holds), make([]url.Values, holds), make([]string, holds)
	push := func(n int) answer {
		body := strings.Replace(tool("bash", `"command":"git push","task_id":"push"`), strings.Repeat("ab", 32), fmt.Sprintf("%064x", n+1), 1)
		return (&running{site: f.site, base: first.address()}).ask("/v1/authorize", keys[n], body)
	}
	for n := range holds {
		keys[n] = f.second(first).APIKey
		held := push(n)
		if held.Status != "PENDING" {
			t.Fatalf("%s", held.Raw)
		}
		paths[n] = "/approve/holds/" + held.HoldID
		shown := alice.wants("the page of a hold", alice.send(paths[n], nil), 200, "with the passkey")
		forms[n] = alice.form(shown, "ALLOWED")
	}
	alice.wants("before the removal", alice.send(paths[0], forms[0]), 200, "It is approved")

	first.signal(syscall.SIGSTOP)
	f.await("another instance has slot 0", func() bool { return f.first() != first })
	second := f.first()
	f.await("the approver is removed", func() bool {
		_, err := f.on(second, "approvers", "remove", "alice", "--key", "operator.key")
		return err == nil || strings.Contains(err.Error(), "no approver")
	})
	said := make(chan string, holds)
	for n := 1; n < holds; n++ {
		go func() {
			got, err := (&person{o: at, name: alice.name, device: alice.device, cookie: alice.cookie}).try(paths[n], forms[n])
			said <- fmt.Sprint(got.status, got.text, err)
		}()
	}
	time.Sleep(100 * time.Millisecond) // they have been sent
	first.signal(syscall.SIGCONT)
	for range holds - 1 {
		if got := <-said; strings.Contains(got, "It is approved") {
			t.Errorf("a decision of an approver who was removed, at an instance that was paused: %s", got)
		}
	}
	second.held.Store(true)
	second.signal(syscall.SIGKILL)
	f.await("slot 0 goes on", func() bool { return f.first() != second })
	for _, i := range f.instances {
		if i == second {
			continue
		}
		alice.o = f.office(i, origin)
		f.await("an instance answers", func() bool {
			got, err := alice.try("/approve", nil)
			return err == nil && got.status == 200
		})
		asked := alice.send("/approve", nil)
		if got := alice.send("/approve/sign-in", url.Values{"answer": {alice.sign(asked, "")}, "to": {"/approve"}}); got.status != 403 {
			t.Errorf("an approver who was removed signs in: %d %s", got.status, got.text)
		}
		for n := 1; n < holds; n++ {
			if got := alice.send(paths[n], forms[n]); got.status < 300 || strings.Contains(got.text, "It is approved") {
				t.Errorf("a decision of an approver who was removed: %d %s", got.status, got.text)
			}
		}
	}
	for n := range holds {
		var got answer
		f.await("a key is answered", func() bool { got = push(n); return got.PolicyHash != "" && got.Code != "SVC_LIMIT_STORE_UNAVAILABLE" })
		if want := map[bool]string{true: "ALLOWED", false: "PENDING"}[n == 0]; got.Status != want {
			t.Errorf("hold %d: %s, and not %s", n, got.Raw, want)
		}
	}
}
