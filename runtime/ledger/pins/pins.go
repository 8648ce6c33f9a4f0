// Package pins has the tool definitions that one key has pinned: for each tool of an MCP server the one that was accepted, and the
// one that was seen since. A [Table] decides what a list of tools or an operator's decision changes, and an [Effect] is the record
// of that. The package is pure, and knows neither keys nor their time.
package pins

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/codec"
)

// A Table has the tools that one key has pinned; nil has none.
type Table struct {
	servers map[string]map[string]pin // by server and tool
	bytes   int                       // of all definitions, changed ones included
}

// A pin is what memory keeps of one tool.
type pin struct{ accepted, changed definition }

// A definition is what memory keeps of one; its text stays in the log.
type definition struct {
	sum  [32]byte // zeros for none
	at   int64    // when it was accepted, or seen
	lsn  uint64   // of the record that has the text
	size int      // of the text
}

// An Effect is what becomes of the pins of one server.
type Effect struct {
	Server string
	Tools  []ToolEffect
}

// A ToolEffect is what becomes of one pin.
type ToolEffect struct {
	Tool       string
	Change     ledger.PinChange
	Definition []byte   // of ToolPinned and ToolChanged
	SHA256     [32]byte // of ToolAccepted
}

// Meet returns the new tools of a server's list, nil without any.
func (t *Table) Meet(l *ledger.ToolList) (*Effect, error) {
	effect := &Effect{Server: l.Server}
	known := t.server(l.Server)
	added, size := 0, 0
	for i := range l.Tools {
		listed := &l.Tools[i]
		p, pinned := known[listed.Name]
		sum := sha256.Sum256(listed.Definition)
		if pinned && (sum == p.accepted.sum || sum == p.changed.sum) {
			continue
		}
		change := ledger.ToolChanged
		if !pinned {
			change = ledger.ToolPinned
			added++
		}
		size += len(listed.Definition) - p.changed.size
		effect.Tools = append(effect.Tools, ToolEffect{Tool: listed.Name, Change: change, Definition: slices.Clone(listed.Definition)})
	}
	if len(effect.Tools) == 0 {
		return nil, nil
	}
	return effect, t.room(known, added, size)
}

// server returns the pins of a server, nil where there are none.
func (t *Table) server(name string) map[string]pin {
	if t == nil {
		return nil
	}
	return t.servers[name]
}

// room returns why a server, of which there is what is known, cannot have so many more tools and bytes.
func (t *Table) room(known map[string]pin, tools, size int) error {
	servers := 0
	if t != nil {
		servers, size = len(t.servers), size+t.bytes
	}
	switch {
	case known == nil && servers >= ledger.MaxPinnedServers:
		return &ledger.PinError{Bound: ledger.PinnedServers, Most: ledger.MaxPinnedServers}
	case len(known)+tools > ledger.MaxPinnedTools:
		return &ledger.PinError{Bound: ledger.PinnedTools, Most: ledger.MaxPinnedTools}
	case size > ledger.MaxPinnedBytes:
		return &ledger.PinError{Bound: ledger.PinnedBytes, Most: ledger.MaxPinnedBytes}
	}
	return nil
}

// Accept returns what becomes of the definition that an operator accepts, nil where that is accepted and nothing else is seen.
func (t *Table) Accept(d *ledger.PinDecision) (*Effect, error) {
	p, pinned := t.server(d.Server)[d.Tool]
	switch {
	case !pinned:
		return nil, notPinned(d.Server, d.Tool)
	case d.SHA256 != p.accepted.sum && (d.SHA256 != p.changed.sum || p.changed == definition{}):
		return nil, fmt.Errorf("%w: %s of %s", ledger.ErrDefinition, d.Tool, d.Server)
	case p.changed == definition{}:
		return nil, nil
	}
	return &Effect{Server: d.Server, Tools: []ToolEffect{{Tool: d.Tool, Change: ledger.ToolAccepted, SHA256: d.SHA256}}}, nil
}

func notPinned(server, tool string) error {
	return fmt.Errorf("%w: the tool %.80q of the server %.80q is not pinned", ledger.ErrNotFound, tool, server)
}

// Forget returns what becomes of pins that an operator gives up: of one tool or, without a name, of a server.
func (t *Table) Forget(d *ledger.PinDecision) (*Effect, error) {
	known, tools := t.server(d.Server), []string{d.Tool}
	if d.Tool == "" {
		tools = slices.Sorted(maps.Keys(known))
	}
	if len(tools) == 0 {
		return nil, fmt.Errorf("%w: no tool of the server %.80q is pinned", ledger.ErrNotFound, d.Server)
	}
	effect := &Effect{Server: d.Server}
	for _, tool := range tools {
		if _, pinned := known[tool]; !pinned {
			return nil, notPinned(d.Server, tool)
		}
		effect.Tools = append(effect.Tools, ToolEffect{Tool: tool, Change: ledger.ToolForgotten})
	}
	return effect, nil
}

// Apply makes an effect so, which the record lsn has, and returns the table, nil where nothing is left in it.
func (t *Table) Apply(e *Effect, lsn uint64, now int64) (*Table, error) {
	if t == nil {
		t = &Table{servers: map[string]map[string]pin{}}
	}
	tools := t.servers[e.Server]
	if tools == nil {
		tools = map[string]pin{}
		t.servers[strings.Clone(e.Server)] = tools
	}
	for i := range e.Tools {
		change := &e.Tools[i]
		before, pinned := tools[change.Tool]
		after, err := before.changedBy(change, pinned, lsn, now)
		if err != nil {
			return t, fmt.Errorf("the tool %q: %w", change.Tool, err)
		}
		t.bytes += after.size() - before.size()
		if change.Change == ledger.ToolForgotten {
			delete(tools, change.Tool)
		} else {
			tools[strings.Clone(change.Tool)] = after
		}
	}
	if len(tools) == 0 {
		delete(t.servers, e.Server)
	}
	if len(t.servers) == 0 {
		return nil, nil
	}
	return t, nil
}

func (p *pin) size() int { return p.accepted.size + p.changed.size }

// changedBy returns what becomes of a pin.
func (p pin) changedBy(e *ToolEffect, pinned bool, lsn uint64, now int64) (pin, error) {
	if pinned == (e.Change == ledger.ToolPinned) {
		return p, fmt.Errorf("it was pinned: %t, and is %s now", pinned, e.Change)
	}
	seen := definition{sum: sha256.Sum256(e.Definition), at: now, lsn: lsn, size: len(e.Definition)}
	switch e.Change {
	case ledger.ToolPinned:
		p.accepted = seen
	case ledger.ToolChanged:
		p.changed = seen
	case ledger.ToolAccepted:
		switch e.SHA256 {
		case p.accepted.sum:
		case p.changed.sum:
			p.accepted = p.changed
			p.accepted.at = now
		default:
			return p, fmt.Errorf("the definition %x was not seen", e.SHA256)
		}
		p.changed = definition{}
	case ledger.ToolForgotten:
		p = pin{}
	}
	return p, nil
}

// AppendRecords appends the LSN of each record that has a pinned definition, in no order; 0 for a definition that has not changed.
func (t *Table) AppendRecords(lsns []uint64) []uint64 {
	if t == nil {
		return lsns
	}
	for _, tools := range t.servers {
		for _, p := range tools {
			lsns = append(lsns, p.accepted.lsn, p.changed.lsn)
		}
	}
	return lsns
}

// All returns the pins of one server or, without a name, of all, in the order of their names.
func (t *Table) All(server string) (all []ledger.Pin) {
	if t == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(t.servers)) {
		if server != "" && server != name {
			continue
		}
		tools := t.servers[name]
		for _, tool := range slices.Sorted(maps.Keys(tools)) {
			p := tools[tool]
			all = append(all, ledger.Pin{Server: name, Tool: tool, Accepted: p.accepted.view(), Changed: p.changed.view()})
		}
	}
	return all
}

func (d definition) view() ledger.Definition { return ledger.Definition{SHA256: d.sum, At: d.at} }

// Pin returns a pin, and the LSNs of the records that have the texts of its definitions, 0 where there is none.
func (t *Table) Pin(server, tool string) (p ledger.Pin, accepted, changed uint64, found bool) {
	kept, found := t.server(server)[tool]
	if !found {
		return p, 0, 0, false
	}
	p = ledger.Pin{Server: server, Tool: tool, Accepted: kept.accepted.view(), Changed: kept.changed.view()}
	return p, kept.accepted.lsn, kept.changed.lsn, true
}

// Definition returns the definition of a tool that e has, nil where it has none.
func (e *Effect) Definition(server, tool string) []byte {
	if e.Server != server {
		return nil
	}
	for i := range e.Tools {
		if e.Tools[i].Tool == tool {
			return e.Tools[i].Definition
		}
	}
	return nil
}

// Views returns what an event says of the pins.
func (e *Effect) Views() []ledger.PinView {
	views := make([]ledger.PinView, len(e.Tools))
	for i := range e.Tools {
		t := &e.Tools[i]
		views[i] = ledger.PinView{Tool: t.Tool, Change: t.Change, SHA256: t.SHA256}
		if t.Definition != nil {
			views[i].SHA256 = sha256.Sum256(t.Definition)
		}
	}
	return views
}

// Append appends the encoding of e to b.
func (e *Effect) Append(b []byte) []byte {
	b = codec.AppendCount(codec.AppendText(b, e.Server), len(e.Tools))
	for i := range e.Tools {
		t := &e.Tools[i]
		b = append(codec.AppendText(b, t.Tool), byte(t.Change))
		switch t.Change {
		case ledger.ToolPinned, ledger.ToolChanged:
			b = codec.AppendBytes(b, t.Definition)
		case ledger.ToolAccepted:
			b = append(b, t.SHA256[:]...)
		}
	}
	return b
}

// ReadEffect reads what Append writes, and nothing else.
func ReadEffect(d *codec.Decoder) *Effect {
	e := &Effect{}
	e.Server = d.Text(ledger.MaxServerName)
	n := d.Uvarint()
	d.Check(n > 0 && n <= ledger.MaxPinnedTools && e.Server != "", "pins of no tool, of too many, or of no server")
	for i := uint64(0); i < n && d.Problem() == ""; i++ {
		t := ToolEffect{Tool: d.Text(ledger.MaxToolName), Change: ledger.PinChange(d.Byte())}
		switch t.Change {
		case ledger.ToolPinned, ledger.ToolChanged:
			t.Definition = d.Bytes(ledger.MaxToolDefinition)
			d.Check(t.Definition != nil, "a tool without a definition")
		case ledger.ToolAccepted:
			d.Copy(t.SHA256[:])
		case ledger.ToolForgotten:
		default:
			d.Fail("an unknown change of a pin")
		}
		e.Tools = append(e.Tools, t)
	}
	return e
}

// AppendSnapshot appends all that t knows to b. Equal tables have equal snapshots.
func (t *Table) AppendSnapshot(b []byte) []byte {
	if t == nil {
		return codec.AppendCount(b, 0)
	}
	b = codec.AppendCount(b, len(t.servers))
	for _, name := range slices.Sorted(maps.Keys(t.servers)) {
		tools := t.servers[name]
		b = codec.AppendCount(codec.AppendText(b, name), len(tools))
		for _, tool := range slices.Sorted(maps.Keys(tools)) {
			p := tools[tool]
			b = p.changed.append(p.accepted.append(codec.AppendText(b, tool)))
		}
	}
	return b
}

func (d definition) append(b []byte) []byte {
	b = append(b, codec.Bit(d != definition{}))
	if d == (definition{}) {
		return b
	}
	b = binary.AppendUvarint(codec.AppendMoment(append(b, d.sum[:]...), d.at), d.lsn)
	return codec.AppendCount(b, d.size)
}

// ReadTable reads a table from a snapshot.
func ReadTable(d *codec.Decoder) *Table {
	n := d.Count()
	if n == 0 {
		return nil
	}
	t := &Table{servers: make(map[string]map[string]pin, n)}
	for range n {
		name := strings.Clone(d.Text(ledger.MaxServerName))
		count := d.Count()
		tools := make(map[string]pin, count)
		for range count {
			tool := strings.Clone(d.Text(ledger.MaxToolName))
			p := pin{accepted: readDefinition(d), changed: readDefinition(d)}
			t.bytes += p.size()
			tools[tool] = p
		}
		t.servers[name] = tools
	}
	return t
}

func readDefinition(d *codec.Decoder) (read definition) {
	if !d.Bool() {
		return read
	}
	d.Copy(read.sum[:])
	read.at, read.lsn = d.Moment(), d.Uvarint()
	size := d.Uvarint()
	d.Check(size <= ledger.MaxToolDefinition, "a definition that is too long")
	read.size = int(min(size, ledger.MaxToolDefinition))
	return read
}
