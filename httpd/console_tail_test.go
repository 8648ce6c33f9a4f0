package httpd

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"bailiff/runtime/accounts"
)

var (
	tailAfter = regexp.MustCompile(`data-after="(\d+)"`)
	tailData  = regexp.MustCompile(`(?m)^data: .*$`)
	tailID    = regexp.MustCompile(`(?m)^id: (\d+)$`)
)

// tail asks for new events behind a place, as EventSource does, and returns what it gets for data, and where to go on.
func (b *browser) tail(query, after string) (status int, data []string, next string) {
	b.t.Helper()
	response, body := b.do(http.MethodGet, "/console/live?"+query+"after=0", nil, func(r *http.Request) { r.Header.Set("Last-Event-ID", after) })
	if response.StatusCode == http.StatusOK && response.Header.Get("Content-Type") != "text/event-stream" {
		b.t.Errorf("a tail is answered %v: %s", response.Header, body)
	}
	for _, id := range tailID.FindAllStringSubmatch(body, -1) {
		next = id[1]
	}
	return response.StatusCode, tailData.FindAllString(body, -1), next
}

// tailing returns a browser on the page of events, and the place that new events follow.
func tailing(t *testing.T) (w *world, b *browser, after string) {
	w = newWorld(t)
	b = w.visitConsole(nil)
	w.createKey("agent", accounts.NewKey{FullGrant: true, Plan: "growth"})
	w.createKey("other", accounts.NewKey{FullGrant: true, Plan: "growth"})
	b.signIn(w, "agent")
	found := tailAfter.FindStringSubmatch(b.shows("/console/events", "/console/events.js"))
	if found == nil {
		t.Fatal("the page of events has no place to go on from")
	}
	return w, b, found[1]
}

// TestConsoleTail waits for events, and gets those of its key and its filter, each once and as data.
func TestConsoleTail(t *testing.T) {
	w, b, after := tailing(t)
	for i := range 3 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			time.Sleep(20 * time.Millisecond) // most of the time the tail waits by then; if not, it finds the event at once
			w.decide("other", `"stranger"`, `{"action":"bash","command":"ls"}`)
			w.decide("agent", fmt.Sprintf("%q", hostile[i]), `{"action":"bash","command":"rm x"}`)
		}()
		status, data, next := b.tail("", after)
		<-done
		if status != 200 || len(data) != 1 || strings.Contains(data[0], "<") || strings.Contains(data[0], "stranger") || !strings.Contains(data[0], "blocked_commands") {
			t.Fatalf("the tail is answered %d: %q", status, data)
		}
		after = next
	}
	w.decide("agent", `"robot"`, `{"action":"bash","command":"rm x"}`)
	w.decide("agent", `"robot"`, `{"action":"bash","command":"ls"}`)
	if _, data, _ := b.tail("decision=ALLOWED&", after); len(data) != 1 || !strings.Contains(data[0], "ALLOWED") {
		t.Errorf("the filter lets %q through", data)
	}
	for _, query := range []string{"decision=x&", "rule=" + strings.Repeat("r", 5000) + "&"} {
		if status, _, _ := b.tail(query, "1"); status != http.StatusBadRequest {
			t.Errorf("%s is answered %d", query, status)
		}
	}
	if status, _, _ := b.tail("", "x"); status != http.StatusBadRequest {
		t.Errorf("a place that is none is answered %d", status)
	}
	for _, path := range []string{"/console/events?from=2026-11-21", "/console/events?before=3"} {
		if _, page := b.get(path); tailAfter.MatchString(page) {
			t.Errorf("%s asks for new events", path)
		}
	}
}

// TestConsoleTailEnds: a tail that waits ends with its session, by a sign-out, and with its key, by a revocation; it gets nothing
// that happens afterwards.
func TestConsoleTailEnds(t *testing.T) {
	for name, end := range map[string]func(*world, *browser){
		"revocation": func(w *world, _ *browser) {
			if _, err := w.admin.RevokeKey(t.Context(), w.said["agent.id"]); err != nil {
				t.Error(err)
			}
		},
		"sign-out": func(w *world, b *browser) {
			other := *b // the tail's own request has the cookie
			other.do(http.MethodPost, "/console/sign-out", url.Values{}, nil)
		},
	} {
		w, b, after := tailing(t)
		copied := *b
		type answer struct {
			status int
			data   []string
		}
		answered := make(chan answer, 1)
		go func() {
			status, data, _ := copied.tail("", after)
			answered <- answer{status, data}
		}()
		for waited := time.Now(); w.console.Tails() == 0; time.Sleep(time.Millisecond) {
			if time.Since(waited) > time.Minute {
				t.Fatal("no tail waits")
			}
		}
		end(w, b)
		w.decide("agent", `"robot"`, `{"action":"bash","command":"ls"}`)
		got := <-answered
		if got.status != http.StatusNoContent || len(got.data) > 0 {
			t.Errorf("after the %s the tail is answered %d: %q", name, got.status, got.data)
		}
		if status, data, _ := b.tail("", after); status != http.StatusSeeOther || len(data) > 0 {
			t.Errorf("after the %s the next tail is answered %d: %q", name, status, data)
		}
	}
}

// TestConsoleTailIsNoUse: a page that is left open does not keep its session.
func TestConsoleTailIsNoUse(t *testing.T) {
	w, b, after := tailing(t)
	for range 4 {
		w.decide("agent", `"robot"`, `{"action":"bash","command":"ls"}`)
		if status, data, _ := b.tail("", after); status != http.StatusOK || len(data) == 0 {
			t.Fatalf("the tail is answered %d: %q", status, data)
		}
		w.now = w.now.Add(9 * time.Minute)
	}
	if status, _, _ := b.tail("", after); status != http.StatusSeeOther {
		t.Errorf("after 36 minutes without a use the tail is answered %d", status)
	}
}

// TestConsoleTailRoom: one key's tails are bounded.
func TestConsoleTailRoom(t *testing.T) {
	w, b, after := tailing(t)
	answered := make(chan int, 100)
	for range 17 {
		copied := *b
		go func() {
			status, _, _ := copied.tail("", after)
			answered <- status
		}()
	}
	if status := <-answered; status != http.StatusServiceUnavailable {
		t.Errorf("the seventeenth tail is answered %d", status)
	}
	w.decide("agent", `"robot"`, `{"action":"bash","command":"ls"}`)
	for range 16 {
		if status := <-answered; status != http.StatusOK {
			t.Errorf("a tail is answered %d", status)
		}
	}
	if n := w.console.Tails(); n != 0 {
		t.Errorf("%d tails wait", n)
	}
}

// plots looks at the plot of the overview, for light pages and for dark ones.
func (b *browser) plots() {
	b.t.Helper()
	var plots []string
	for _, query := range []string{"", "?scheme=dark"} {
		response, body := b.get("/console/hours.svg" + query)
		if response.Header.Get("Content-Type") != "image/svg+xml" || !strings.Contains(body, "<svg") || strings.Contains(body, "<script") {
			b.t.Errorf("the plot is answered %v: %.100s", response.Header, body)
		}
		plots = append(plots, body)
	}
	if plots[0] == plots[1] {
		b.t.Error("the plot of dark pages is that of light ones")
	}
}

// TestConsoleMethods: a page takes the methods that it has, and no other one instead of them.
func TestConsoleMethods(t *testing.T) {
	_, b, _ := tailing(t)
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions} {
		if response, body := b.do(method, "/console/key", nil, func(r *http.Request) { r.Header.Set("Origin", b.base) }); response.StatusCode != http.StatusMethodNotAllowed || response.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s is answered %d, Allow %q: %.200s", method, response.StatusCode, response.Header.Get("Allow"), body)
		}
	}
}
