package ledger

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Pin is a tool of an MCP server as one key knows it: the definition that is accepted, and the one that the server shows
// instead, where that has changed.
type Pin struct {
	Server   string
	Tool     string
	Accepted Definition
	Changed  Definition // zero where every server of that name has shown the accepted one, or the operator has decided since
}

// A Definition is what an MCP server says of a tool.
type Definition struct {
	SHA256 [32]byte // of the text
	At     int64    // when it was accepted, or seen: Unix nanoseconds
	Text   []byte   // in RFC 8785 form; nil where it was not asked for
}

// Bounds of pins, because agents choose the names.
const (
	MaxPinnedServers  = 32        // of one key
	MaxPinnedTools    = 1_000     // of one server
	MaxPinnedBytes    = 8 << 20   // of the definitions of one key
	MaxServerName     = 64        // bytes
	MaxToolName       = 128       // bytes
	MaxToolDefinition = 64 << 10  // bytes
	MaxToolsMet       = 256       // tools of one MeetTools
	MaxToolsMetBytes  = 512 << 10 // of the definitions of one MeetTools
)

// A PinBound is a bound on what one key may pin.
type PinBound uint8

// The bounds that a PinError can be about.
const (
	PinnedServers PinBound = iota + 1 // MaxPinnedServers
	PinnedTools                       // MaxPinnedTools
	PinnedBytes                       // MaxPinnedBytes
)

// A PinError is an [ErrTooMany] of pins.
type PinError struct {
	Bound PinBound
	Most  int
}

// Error says which bound it is.
func (e *PinError) Error() string {
	what := map[PinBound]string{PinnedServers: "servers", PinnedTools: "tools of the server", PinnedBytes: "bytes of definitions"}[e.Bound]
	return fmt.Sprintf("%v: at most %d %s can be pinned", ErrTooMany, e.Most, what)
}

// Unwrap returns ErrTooMany.
func (e *PinError) Unwrap() error { return ErrTooMany }

// ErrDefinition says that a tool's definition is not the one that was to be accepted.
var ErrDefinition = errors.New("ledger: the tool has another definition")

// A ToolList is what a server has listed. Tools that are not pinned are pinned as they are; of the others it is noted which
// have changed. It never changes what is accepted.
type ToolList struct {
	Key    ID
	Server string
	At     int64 // Unix nanoseconds
	Tools  []ListedTool
}

// A ListedTool is one tool of a list.
type ListedTool struct {
	Name       string
	Definition []byte // in RFC 8785 form
}

// Validate returns an error that wraps [ErrInvalid] and names the first part of l that no ledger would record.
func (l *ToolList) Validate() error {
	switch {
	case l.At < 0 || l.At > MaxTime:
		return fmt.Errorf("%w: tools listed at %d: use Unix nanoseconds", ErrInvalid, l.At)
	case len(l.Tools) == 0 || len(l.Tools) > MaxToolsMet:
		return fmt.Errorf("%w: %d tools: give 1 to %d", ErrInvalid, len(l.Tools), MaxToolsMet)
	}
	if err := CheckServer(l.Server); err != nil {
		return err
	}
	seen, size := make(map[string]bool, len(l.Tools)), 0
	for i := range l.Tools {
		t := &l.Tools[i]
		size += len(t.Definition)
		switch {
		case t.Name == "" || len(t.Name) > MaxToolName || !utf8.ValidString(t.Name):
			return fmt.Errorf("%w: the name of a tool has %d bytes: give 1 to %d of UTF-8", ErrInvalid, len(t.Name), MaxToolName)
		case seen[t.Name]:
			return fmt.Errorf("%w: the tool %q is there twice", ErrInvalid, t.Name)
		case len(t.Definition) == 0 || len(t.Definition) > MaxToolDefinition:
			return fmt.Errorf("%w: the definition of the tool %q has %d bytes: give 1 to %d", ErrInvalid, t.Name, len(t.Definition), MaxToolDefinition)
		case size > MaxToolsMetBytes:
			return fmt.Errorf("%w: definitions of more than %d bytes", ErrInvalid, MaxToolsMetBytes)
		}
		seen[t.Name] = true
	}
	return nil
}

// CheckServer returns an error that wraps [ErrInvalid] where name is not what an intent can call an MCP server.
func CheckServer(name string) error {
	bad := func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(".*/", r) || 'A' <= r && r <= 'Z'
	}
	if name == "" || len(name) > MaxServerName || strings.ContainsFunc(name, bad) {
		return fmt.Errorf("%w: the server is %.80q: give 1 to %d printable ASCII characters, in lower case, without spaces, dots, stars and slashes", ErrInvalid, name, MaxServerName)
	}
	return nil
}

// A PinDecision is an operator's word about one tool.
type PinDecision struct {
	Key          ID
	Server, Tool string
	SHA256       [32]byte // of the definition to accept: the changed one, or the accepted one, which dismisses the change
	At           int64    // Unix nanoseconds
}

// A PinChange is what became of a pin.
type PinChange uint8

// The changes of pins. The numbers are on disk.
const (
	ToolPinned    PinChange = 1 // first use
	ToolChanged   PinChange = 2 // the server shows another definition
	ToolAccepted  PinChange = 3 // by the operator
	ToolForgotten PinChange = 4 // by the operator: what the server shows next is pinned
)

var pinChangeNames = [...]string{"", "pinned", "changed", "accepted", "forgotten"}

// String returns the change in one word.
func (c PinChange) String() string {
	if c > 0 && int(c) < len(pinChangeNames) {
		return pinChangeNames[c]
	}
	return fmt.Sprintf("PinChange(%d)", uint8(c))
}

// A PinView is what an event says of one pin.
type PinView struct {
	Tool   string
	Change PinChange
	SHA256 [32]byte // of the definition; zeros where it was forgotten
}
