package ledgertest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"bailiff/runtime/ledger"
)

// A pinsEntry is what the model's log says of pins: a list, or a decision on a tool.
type pinsEntry struct {
	list    *ledger.ToolList
	decided *ledger.PinDecision
	forgets bool
}

// pins returns the pins of a key, in the order of their names.
func (n *naive) pins(key ledger.ID) (all []ledger.Pin) {
	for _, e := range n.log {
		switch {
		case e.key != key || e.pins == nil:
		case e.pins.list != nil:
			for _, t := range e.pins.list.Tools {
				all = met(all, e.pins.list.Server, t, e.now)
			}
		default:
			all = decided(all, e.pins, e.now)
		}
	}
	slices.SortFunc(all, func(a, b ledger.Pin) int {
		return strings.Compare(a.Server+"\x00"+a.Tool, b.Server+"\x00"+b.Tool)
	})
	return all
}

// met returns pins after a server has listed a tool.
func met(all []ledger.Pin, server string, t ledger.ListedTool, now int64) []ledger.Pin {
	seen := ledger.Definition{SHA256: sha256.Sum256(t.Definition), At: now, Text: t.Definition}
	i := slices.IndexFunc(all, func(p ledger.Pin) bool { return p.Server == server && p.Tool == t.Name })
	switch {
	case i < 0:
		return append(all, ledger.Pin{Server: server, Tool: t.Name, Accepted: seen})
	case seen.SHA256 != all[i].Accepted.SHA256 && seen.SHA256 != all[i].Changed.SHA256:
		all[i].Changed = seen
	}
	return all
}

// decided returns pins after an operator has decided on a tool.
func decided(all []ledger.Pin, e *pinsEntry, now int64) []ledger.Pin {
	is := func(p ledger.Pin) bool {
		return p.Server == e.decided.Server && (p.Tool == e.decided.Tool || e.decided.Tool == "")
	}
	if e.forgets {
		return slices.DeleteFunc(all, is)
	}
	p := &all[slices.IndexFunc(all, is)]
	if e.decided.SHA256 == p.Changed.SHA256 {
		p.Accepted = p.Changed
		p.Accepted.At = now
	}
	p.Changed = ledger.Definition{}
	return all
}

// meet has a server list tools, or the operator decide on one.
func (h *history) meet(arg uint32) error {
	key := ID('k', uint64(arg%8/7))
	at := h.of(key)
	known, now, ok := at.model.key(key)
	if now = max(now, h.at); !ok {
		return nil
	}
	server, tool := []string{"files", "search"}[arg>>3%8/7], fmt.Sprintf("t%d", arg>>6%2)
	text := fmt.Appendf(nil, `{"name":"%s","version":%d}`, tool, arg>>7%4)
	before := at.model.pins(key)
	e := &pinsEntry{}
	var err, want error
	switch choice := arg >> 9 % 8; {
	case choice < 5:
		e.list = &ledger.ToolList{Key: key, Server: server, At: h.at, Tools: []ledger.ListedTool{{Name: tool, Definition: text}}}
		if choice == 0 {
			e.list.Tools = append(e.list.Tools, ledger.ListedTool{Name: "more", Definition: text})
		}
		err = at.MeetTools(context.Background(), e.list)
	default:
		e.decided = &ledger.PinDecision{Key: key, Server: server, Tool: tool, SHA256: sha256.Sum256(text), At: h.at}
		if len(before) > 0 && arg>>12%4 > 0 {
			meant := before[int(arg>>14)%len(before)]
			e.decided.Server, e.decided.Tool, e.decided.SHA256 = meant.Server, meant.Tool, meant.Changed.SHA256
		}
		if e.forgets = choice == 7; e.forgets && arg>>14%4 == 0 {
			e.decided.Tool = ""
		}
		decide := at.AcceptTool
		if e.forgets {
			decide = at.ForgetTools
		}
		want = refusesPin(before, e)
		err = decide(context.Background(), e.decided)
	}
	if e.list != nil && at.model.stopped(known) && h.news(entry{key: key, now: now, pins: e}, before) {
		want = ledger.ErrHalted
	}
	if known.Revoked != 0 && (e.decided == nil || !errors.Is(want, ledger.ErrNotFound)) {
		want = ledger.ErrKeyRevoked
	}
	if errors.Is(want, ledger.ErrNotFound) && errors.Is(err, ledger.ErrKeyRevoked) && known.Revoked != 0 {
		want = ledger.ErrKeyRevoked
	}
	if !errors.Is(err, want) || want == nil && err != nil {
		return fmt.Errorf("pins: %v, the model says %v", err, want)
	}
	if err != nil {
		h.reached["pins refused"]++
		return nil
	}
	return h.recordPins(entry{key: key, now: now, pins: e}, before)
}

// news reports whether something would become of pins.
func (h *history) news(e entry, before []ledger.Pin) bool {
	at := h.of(e.key)
	at.model.log = append(at.model.log, e)
	after := at.model.pins(e.key)
	at.model.log = at.model.log[:len(at.model.log)-1]
	return len(before)+len(after) > 0 && !cmp.Equal(before, after)
}

// recordPins notes what became of pins, where something did.
func (h *history) recordPins(e entry, before []ledger.Pin) error {
	at := h.of(e.key)
	at.model.log = append(at.model.log, e)
	after := at.model.pins(e.key)
	if len(before)+len(after) == 0 || cmp.Equal(before, after) {
		at.model.log = at.model.log[:len(at.model.log)-1]
		return nil
	}
	at.acked = len(at.model.log)
	switch {
	case e.pins.forgets:
		h.reached["tool forgotten"]++
	case e.pins.decided != nil:
		h.reached["tool accepted"]++
	case len(after) > len(before):
		h.reached["tool pinned"]++
	default:
		h.reached["tool changed"]++
	}
	return nil
}

// refusesPin returns why an operator cannot decide so.
func refusesPin(pins []ledger.Pin, e *pinsEntry) error {
	for _, p := range pins {
		if p.Server != e.decided.Server || p.Tool != e.decided.Tool && e.decided.Tool != "" {
			continue
		}
		if sum := e.decided.SHA256; e.forgets || sum == p.Accepted.SHA256 || sum == p.Changed.SHA256 && p.Changed.Text != nil {
			return nil
		}
		return ledger.ErrDefinition
	}
	return ledger.ErrNotFound
}

// comparePins compares the pins of a key, texts included.
func (h *history) comparePins(key ledger.ID) error {
	ctx := context.Background()
	at := h.of(key)
	want := at.model.pins(key)
	got, err := at.Pins(ctx, key, "")
	if err != nil {
		return err
	}
	for i := range got {
		if got[i], err = at.Pin(ctx, key, got[i].Server, got[i].Tool); err != nil {
			return err
		}
	}
	if diff := cmp.Diff(want, got); len(want)+len(got) > 0 && diff != "" {
		return fmt.Errorf("pins (-model +ledger):\n%s", diff)
	}
	return nil
}
