package mcpproxy

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"
)

// hiddenTools are the last decisions on whether to show a tool. The zero value works.
type hiddenTools struct {
	mu   sync.Mutex
	at   map[string]time.Time
	hide map[string]bool
}

// maxAsking is how many test-runs are under way for one list.
const maxAsking = 8

// hide leaves out of a page of tools/list the tools that a call could not reach: those whose definition has changed, and
// those that the policy denies by their name. What is denied without arguments may be allowed with some, so a denial by
// another rule does not hide. Without a decision there is no list.
func (g *Guard) hide(result jsontext.Value, tools []tool, u *underWay) (jsontext.Value, *refusal) {
	hidden, r := g.hiddenOf(tools)
	if r != nil {
		return nil, r
	}
	members, err := readObject(result)
	if err != nil {
		return nil, refuse(codeServerMalformed, "%v", err)
	}
	shown := []byte{'['}
	for i := range tools {
		if hidden[i] {
			continue
		}
		if len(shown) > 1 {
			shown = append(shown, ',')
		}
		shown = append(shown, tools[i].definition...)
	}
	shown = append(shown, ']')
	for i := range members {
		if members[i].name == "tools" {
			members[i].value = shown
		}
	}
	if u.modern {
		members = replaced(members, "cacheScope", jsontext.Value(`"private"`))
		if raw, ok := valueOf(members, "ttlMs"); !ok || tooLong(raw) {
			members = replaced(members, "ttlMs", jsontext.Value(fmt.Sprint(hideAge.Milliseconds())))
		}
	}
	return appendMembers(nil, members), nil
}

// hiddenOf decides on each tool, several at once.
func (g *Guard) hiddenOf(tools []tool) ([]bool, *refusal) {
	hidden, refusals := make([]bool, len(tools)), make([]*refusal, len(tools))
	var asking errgroup.Group
	asking.SetLimit(maxAsking)
	for i := range tools {
		asking.Go(func() error {
			hidden[i], refusals[i] = g.hides(&tools[i])
			return nil
		})
	}
	_ = asking.Wait() // what failed is in refusals, in the order of the tools
	for _, r := range refusals {
		if r != nil {
			return nil, r
		}
	}
	return hidden, nil
}

// hides reports whether a tool is left out.
func (g *Guard) hides(t *tool) (bool, *refusal) {
	if !g.Pins.holds(t.name, t.hash) {
		return true, nil
	}
	if takenBy(t.name) != nil {
		return true, nil
	}
	if hide, known := g.hidden.recall(t.hash, g.Now()); known {
		return hide, nil
	}
	row := find(clientRequests, "tools/call")
	intent, err := g.intentOf(&message{}, row, t.name, t.hash)
	if err != nil {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), hideAge)
	defer cancel()
	d := g.Decide(ctx, intent, true)
	switch {
	case d.Unreachable && g.FailOpen:
		return false, nil
	case d.Unreachable:
		return true, refuse(codeUnreachable, "%s; so the list of tools cannot be filtered", d.Message)
	case d.PolicyHash == "" && d.Status == statusDenied: // not a decision: a limit, a key, no policy
		return true, refusedBy(&d)
	}
	if d.PolicyHash != "" {
		g.policy.Store(&d.PolicyHash)
	}
	hide := d.Status == statusDenied && strings.HasPrefix(d.Rule, "mcp.")
	g.hidden.keep(t.hash, hide, g.Now())
	return hide, nil
}

func (h *hiddenTools) recall(hash string, now time.Time) (hide, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, known := h.at[hash]
	return h.hide[hash], known && now.Sub(at) < hideAge
}

func (h *hiddenTools) keep(hash string, hide bool, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.at == nil || len(h.at) >= maxListed {
		h.at, h.hide = map[string]time.Time{}, map[string]bool{}
	}
	h.at[hash], h.hide[hash] = now, hide
}

// forget has every tool decided on anew.
func (h *hiddenTools) forget() {
	h.mu.Lock()
	h.at, h.hide = nil, nil
	h.mu.Unlock()
}

// replaced sets a member's value.
func replaced(members []member, name string, value jsontext.Value) []member {
	for i := range members {
		if members[i].name == name {
			members[i].value = value
			return members
		}
	}
	return append(members, member{name: name, value: value})
}

// tooLong reports whether a ttlMs is longer than a filtered list may be kept.
func tooLong(raw jsontext.Value) bool {
	key, ok := idKey(raw)
	return !ok || len(key) > len("60000") || len(key) == len("60000") && key > "60000" || key[0] == 's'
}
