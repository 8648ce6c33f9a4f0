package suite

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
)

// list is a list of one tool of the server files.
func (f *fixture) list(tool, definition string) *ledger.ToolList {
	return &ledger.ToolList{Key: f.key.ID, Server: "files", At: f.at, Tools: []ledger.ListedTool{{Name: tool, Definition: []byte(definition)}}}
}

func (f *fixture) meet(tool, definition string) {
	f.Helper()
	f.wantErr("a list", f.l.MeetTools(f.Context(), f.list(tool, definition)), nil)
}

// wantPin checks the definitions of a tool; an empty one is none.
func (f *fixture) wantPin(tool, accepted, changed string) {
	f.Helper()
	p, err := f.l.Pin(f.Context(), f.key.ID, "files", tool)
	if err != nil {
		f.Fatal(err)
	}
	want := ledger.Pin{Server: "files", Tool: tool, Accepted: ledger.Definition{SHA256: sha256.Sum256([]byte(accepted)), At: p.Accepted.At, Text: []byte(accepted)}}
	if changed != "" {
		want.Changed = ledger.Definition{SHA256: sha256.Sum256([]byte(changed)), At: p.Changed.At, Text: []byte(changed)}
	}
	f.equal("pin", p, want)
}

func (f *fixture) decision(tool, definition string) *ledger.PinDecision {
	return &ledger.PinDecision{Key: f.key.ID, Server: "files", Tool: tool, SHA256: sha256.Sum256([]byte(definition)), At: f.at}
}

// testPins pins at first use, and changes what is accepted by the operator's word alone, also after opening again.
func testPins(f *fixture) {
	f.meet("read", "one")
	f.at += hour
	f.meet("read", "two")
	f.wantPin("read", "one", "two")
	f.meet("read", "two")
	f.meet("read", "one") // it is accepted already
	f.wantPin("read", "one", "two")
	f.meet("read", "three")
	f.wantPin("read", "one", "three")
	f.wantErr("what was shown before", f.l.AcceptTool(f.Context(), f.decision("read", "two")), ledger.ErrDefinition)
	f.wantErr("a tool that is not pinned", f.l.AcceptTool(f.Context(), f.decision("write", "two")), ledger.ErrNotFound)
	other := f.newKey(2)
	foreign := f.decision("read", "three")
	foreign.Key = other.ID
	f.wantErr("another key's", f.l.AcceptTool(f.Context(), foreign), ledger.ErrNotFound)
	if f.suite.Reopen != nil {
		f.l = f.suite.Reopen(f.T, f.l)
		f.wantPin("read", "one", "three")
	}
	f.wantErr("the operator", f.l.AcceptTool(f.Context(), f.decision("read", "three")), nil)
	f.wantPin("read", "three", "")
	f.meet("read", "four")
	f.wantErr("the accepted one again", f.l.AcceptTool(f.Context(), f.decision("read", "three")), nil)
	f.wantPin("read", "three", "")
	f.wantErr("no change", f.l.AcceptTool(f.Context(), f.decision("read", "three")), nil)
	f.meet("Read", "a tool of another name")
	f.wantErr("forgetting", f.l.ForgetTools(f.Context(), f.decision("read", "")), nil)
	f.meet("read", "five")
	f.wantPin("read", "five", "")
	f.wantErr("forgetting the server", f.l.ForgetTools(f.Context(), f.decision("", "")), nil)
	f.wantErr("forgetting nothing", f.l.ForgetTools(f.Context(), f.decision("", "")), ledger.ErrNotFound)
	if pins, err := f.l.Pins(f.Context(), f.key.ID, ""); err != nil || len(pins) != 0 {
		f.Fatalf("after forgetting all: %+v, %v", pins, err)
	}
	f.wantPinEvents()
	if _, err := f.l.RevokeKey(f.Context(), other.ID, f.at); err != nil {
		f.Fatal(err)
	}
	revoked := f.list("read", "one")
	revoked.Key = other.ID
	f.wantErr("a revoked key", f.l.MeetTools(f.Context(), revoked), ledger.ErrKeyRevoked)
}

// wantPinEvents checks what the log says of testPins.
func (f *fixture) wantPinEvents() {
	f.Helper()
	var got []string
	for _, e := range f.events() {
		for _, p := range e.Pins {
			if e.Kind != ledger.PinsChanged || e.Server != "files" || e.Key != f.key.ID {
				f.Fatalf("event: %+v", e)
			}
			got = append(got, fmt.Sprintf("%s %s %x", p.Tool, p.Change, p.SHA256[:2]))
		}
	}
	sum := func(text string) string { s := sha256.Sum256([]byte(text)); return fmt.Sprintf(" %x", s[:2]) }
	f.equal("events", got, []string{
		"read pinned" + sum("one"), "read changed" + sum("two"), "read changed" + sum("three"), "read accepted" + sum("three"),
		"read changed" + sum("four"), "read accepted" + sum("three"), "Read pinned" + sum("a tool of another name"),
		"read forgotten 0000", "read pinned" + sum("five"), "Read forgotten 0000", "read forgotten 0000",
	})
}

// testPinBounds fills what a key may pin. A list beyond a bound pins none of its tools.
func testPinBounds(f *fixture) {
	bound := func(what string, err error, want ledger.PinBound) {
		f.Helper()
		var refused *ledger.PinError
		if !errors.As(err, &refused) || refused.Bound != want || !errors.Is(err, ledger.ErrTooMany) {
			f.Fatalf("%s: %v", what, err)
		}
	}
	l := f.list("", "")
	for made := 0; made < ledger.MaxPinnedTools; {
		l.Tools = l.Tools[:0]
		for ; len(l.Tools) < ledger.MaxToolsMet && made < ledger.MaxPinnedTools; made++ {
			l.Tools = append(l.Tools, ledger.ListedTool{Name: fmt.Sprint(made), Definition: []byte("d")})
		}
		f.wantErr("filling", f.l.MeetTools(f.Context(), l), nil)
	}
	l.Tools = []ledger.ListedTool{{Name: "0", Definition: []byte("e")}, {Name: "one more", Definition: []byte("d")}}
	bound("one tool too many", f.l.MeetTools(f.Context(), l), ledger.PinnedTools)
	f.wantPin("0", "d", "")
	for n := 1; n < ledger.MaxPinnedServers; n++ {
		l.Server = fmt.Sprint("s", n)
		f.wantErr("a server", f.l.MeetTools(f.Context(), l), nil)
	}
	l.Server = "one-more"
	bound("one server too many", f.l.MeetTools(f.Context(), l), ledger.PinnedServers)
	large := bytes.Repeat([]byte("d"), ledger.MaxToolDefinition)
	l.Server = "s1"
	var err error
	for n := 0; err == nil && n <= ledger.MaxPinnedBytes/ledger.MaxToolDefinition; n++ {
		l.Tools = []ledger.ListedTool{{Name: fmt.Sprint("large", n), Definition: large}}
		err = f.l.MeetTools(f.Context(), l)
	}
	bound("bytes", err, ledger.PinnedBytes)
	forget := f.decision("large0", "")
	forget.Server = "s1"
	f.wantErr("making room", f.l.ForgetTools(f.Context(), forget), nil)
	f.wantErr("a definition more", f.l.MeetTools(f.Context(), l), nil)
	f.wantErr("after all, a whole server", f.l.ForgetTools(f.Context(), f.decision("", "")), nil)
}

// testPinRefusals has lists that no ledger records.
func testPinRefusals(f *fixture) {
	large := bytes.Repeat([]byte("d"), ledger.MaxToolDefinition)
	for name, spoil := range map[string]func(*ledger.ToolList){
		"no server":      func(l *ledger.ToolList) { l.Server = "" },
		"a dot":          func(l *ledger.ToolList) { l.Server = "a.b" },
		"upper case":     func(l *ledger.ToolList) { l.Server = "Files" },
		"a long server":  func(l *ledger.ToolList) { l.Server = strings.Repeat("s", ledger.MaxServerName+1) },
		"no tools":       func(l *ledger.ToolList) { l.Tools = nil },
		"many tools":     func(l *ledger.ToolList) { l.Tools = make([]ledger.ListedTool, ledger.MaxToolsMet+1) },
		"no name":        func(l *ledger.ToolList) { l.Tools[0].Name = "" },
		"a long name":    func(l *ledger.ToolList) { l.Tools[0].Name = strings.Repeat("n", ledger.MaxToolName+1) },
		"not UTF-8":      func(l *ledger.ToolList) { l.Tools[0].Name = "\xff" },
		"no definition":  func(l *ledger.ToolList) { l.Tools[0].Definition = nil },
		"a long one":     func(l *ledger.ToolList) { l.Tools[0].Definition = append(large, 'd') },
		"a tool twice":   func(l *ledger.ToolList) { l.Tools = append(l.Tools, l.Tools[0]) },
		"before all":     func(l *ledger.ToolList) { l.At = -1 },
		"a large list":   func(l *ledger.ToolList) { l.Tools = many(large) },
		"after all time": func(l *ledger.ToolList) { l.At = ledger.MaxTime + 1 },
	} {
		bad := f.list("read", "one")
		spoil(bad)
		f.wantErr(name, f.l.MeetTools(f.Context(), bad), ledger.ErrInvalid)
	}
	missing := f.list("read", "one")
	missing.Key = ledgertest.ID('k', 9)
	f.wantErr("no key", f.l.MeetTools(f.Context(), missing), ledger.ErrNotFound)
}

// many is a list of definitions that are too large together.
func many(definition []byte) (tools []ledger.ListedTool) {
	for n := range ledger.MaxToolsMetBytes/len(definition) + 1 {
		tools = append(tools, ledger.ListedTool{Name: fmt.Sprint(n), Definition: definition})
	}
	return tools
}
