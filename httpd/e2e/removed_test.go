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

// reached starts all instances again, which browsers reach at an origin.
func (f *failover) reached() (origin string) {
	f.t.Helper()
	port, err := port.Free()
	if err != nil {
		f.t.Fatal(err)
	}
	origin = "http://localhost:" + port
	for _, i := range f.instances {
		i.mu.Lock()
		i.env = append(i.env, "SVC_PUBLIC_URL="+origin, "SVC_CONSOLE_LISTEN=127.0.0.1:0")
		i.mu.Unlock()
		i.becomes(binary)
	}
	f.share()
	return origin
}

// A heldPush is a hold, of a key of its own, and an approval that an approver has signed and not sent.
type heldPush struct {
	n       int
	key     string
	path    string
	approve url.Values
}

// ask asks an instance for the push once more, or for the first time.
func (h *heldPush) ask(f *failover, at *instance) answer {
	body := strings.Replace(tool("bash", `"command":"git push","task_id":"push"`), strings.Repeat("ab", 32), fmt.Sprintf("%064x", h.n), 1)
	return (&running{site: f.site, base: at.address()}).ask("/v1/authorize", h.key, body)
}

// TestRemovedApprover removes an approver while the instance that has her session, and all that it knew of her, is paused for longer than its
// lease. From the moment at which the command returns nothing is approved that she has signed before, whichever instance is asked, however
// late it hears of it, and neither after the one that recorded it is lost.
func TestRemovedApprover(t *testing.T) {
	t.Parallel()
	f := newFailoverOf(t, true, 4, "a", "b", "c")
	defer f.end()
	origin := f.reached()
	first := f.first()
	elsewhere := f.instances[slices.IndexFunc(f.instances, func(i *instance) bool { return i != first })]
	alice := f.office(elsewhere, origin).approver("alice", "--sections", "tool_calls", "--without-amount")
	alice.o = f.office(first, origin)
	var holds []*heldPush
	for n := range 9 {
		h := &heldPush{n: n + 1, key: f.second(first).APIKey}
		held := h.ask(f, first)
		if held.Status != "PENDING" {
			t.Fatalf("%s", held.Raw)
		}
		h.path = "/approve/holds/" + held.HoldID
		h.approve = alice.form(alice.wants("the page of a hold", alice.send(h.path, nil), 200, "with the passkey"), "ALLOWED")
		holds = append(holds, h)
	}
	alice.wants("before the removal", alice.send(holds[0].path, holds[0].approve), 200, "It is approved")
	second := f.removesWhilePaused(first, alice, holds[1:])
	second.held.Store(true)
	second.signal(syscall.SIGKILL)
	f.await("slot 0 goes on", func() bool { return f.first() != second })
	for _, i := range f.instances {
		if i != second {
			f.refusesRemoved(i, alice, holds[1:])
		}
	}
	for n, h := range holds {
		var got answer
		f.await("a key is answered", func() bool {
			got = h.ask(f, first)
			return got.PolicyHash != "" && got.Code != "SVC_LIMIT_STORE_UNAVAILABLE"
		})
		if want := map[bool]string{true: "ALLOWED", false: "PENDING"}[n == 0]; got.Status != want {
			t.Errorf("hold %d: %s, and not %s", n, got.Raw, want)
		}
	}
}

// removesWhilePaused removes an approver while an instance is paused, and sends it what she signed before it hears of it. It returns the
// instance that has recorded it.
func (f *failover) removesWhilePaused(first *instance, p *person, holds []*heldPush) (second *instance) {
	f.t.Helper()
	first.signal(syscall.SIGSTOP)
	f.await("another instance has slot 0", func() bool { return f.first() != first })
	second = f.first()
	f.await("the approver is removed", func() bool {
		_, err := f.on(second, "approvers", "remove", p.name, "--key", "operator.key")
		return err == nil || strings.Contains(err.Error(), "no approver")
	})
	said := make(chan string, len(holds))
	for _, h := range holds {
		go func() {
			got, err := (&person{o: p.o, name: p.name, device: p.device, cookie: p.cookie}).try(h.path, h.approve)
			said <- fmt.Sprint(got.status, got.text, err)
		}()
	}
	time.Sleep(100 * time.Millisecond) // they have been sent
	first.signal(syscall.SIGCONT)
	for range holds {
		if got := <-said; strings.Contains(got, "It is approved") {
			f.t.Errorf("a decision of an approver who was removed, at an instance that was paused: %s", got)
		}
	}
	return second
}

// refusesRemoved: an instance takes neither a session of an approver who was removed, nor what she signed.
func (f *failover) refusesRemoved(i *instance, p *person, holds []*heldPush) {
	f.t.Helper()
	p.o = f.office(i, p.o.origin)
	var asked sheet
	f.await("an instance answers", func() (ok bool) {
		var err error
		asked, err = p.try("/approve", nil)
		return err == nil && asked.status == 200
	})
	if got := p.send("/approve/sign-in", url.Values{"answer": {p.sign(asked, "")}, "to": {"/approve"}}); got.status != 403 {
		f.t.Errorf("an approver who was removed signs in: %d %s", got.status, got.text)
	}
	for _, h := range holds {
		if got := p.send(h.path, h.approve); got.status < 300 || strings.Contains(got.text, "It is approved") {
			f.t.Errorf("a decision of an approver who was removed: %d %s", got.status, got.text)
		}
	}
}
