package state

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

// A pinTable has the tools that one key has pinned.
type pinTable struct {
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

// A PinsEffect is what becomes of the pins of one server.
type PinsEffect struct {
	Server string
	Tools  []PinEffect
}

// A PinEffect is what becomes of one pin.
type PinEffect struct {
	Tool       string
	Change     ledger.PinChange
	Definition []byte   // of ToolPinned and ToolChanged
	SHA256     [32]byte // of ToolAccepted
}

// MeetTools fills in the record of what is new about the tools that a server lists; r.Kind is NoRecord where nothing is.
func (s *State) MeetTools(l *ledger.ToolList, r *Record) error {
	r.reset()
	if err := l.Validate(); err != nil {
		return err
	}
	k, err := s.pinner(l.Key)
	if err != nil {
		return err
	}
	effect := &PinsEffect{Server: l.Server}
	known := k.pins.server(l.Server)
	added, size := 0, 0
	for i := range l.Tools {
		t := &l.Tools[i]
		p, pinned := known[t.Name]
		sum := sha256.Sum256(t.Definition)
		if pinned && (sum == p.accepted.sum || sum == p.changed.sum) {
			continue
		}
		change := ledger.ToolChanged
		if !pinned {
			change = ledger.ToolPinned
			added++
		}
		size += len(t.Definition) - p.changed.size
		effect.Tools = append(effect.Tools, PinEffect{Tool: t.Name, Change: change, Definition: slices.Clone(t.Definition)})
	}
	if len(effect.Tools) == 0 {
		return nil
	}
	if s.stops(k) {
		return fmt.Errorf("%w: tools of %s", ledger.ErrHalted, l.Server)
	}
	if err := k.pins.room(known, added, size); err != nil {
		return err
	}
	r.Kind, r.Key, r.Now, r.Pins = ledger.PinsChanged, l.Key, max(k.now, l.At), effect
	return nil
}

// pinner returns a key that may have pins.
func (s *State) pinner(key ledger.ID) (*keyState, error) {
	k := s.keys[key]
	switch {
	case k == nil:
		return nil, fmt.Errorf("%w: key %s", ledger.ErrNotFound, key)
	case k.key.Revoked != 0:
		return nil, fmt.Errorf("%w: %s", ledger.ErrKeyRevoked, key)
	}
	return k, nil
}

// server returns the pins of a server, nil where there are none.
func (t *pinTable) server(name string) map[string]pin {
	if t == nil {
		return nil
	}
	return t.servers[name]
}

// room returns why a server, of which there is what is known, cannot have so many more tools and bytes.
func (t *pinTable) room(known map[string]pin, tools, size int) error {
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

// AcceptTool fills in the record of the definition that an operator accepts, or returns why there is none. r.Kind is NoRecord
// where that is accepted and nothing else is seen.
func (s *State) AcceptTool(d *ledger.PinDecision, r *Record) error {
	k, p, err := s.decidedPin(d, r)
	switch {
	case err != nil:
		return err
	case d.SHA256 != p.accepted.sum && (d.SHA256 != p.changed.sum || p.changed == definition{}):
		return fmt.Errorf("%w: %s of %s", ledger.ErrDefinition, d.Tool, d.Server)
	case p.changed == definition{}:
		return nil
	}
	r.Kind, r.Key, r.Now = ledger.PinsChanged, d.Key, max(k.now, d.At)
	r.Pins = &PinsEffect{Server: d.Server, Tools: []PinEffect{{Tool: d.Tool, Change: ledger.ToolAccepted, SHA256: d.SHA256}}}
	return nil
}

// ForgetTools fills in the record of pins that an operator gives up: of one tool or, without a name, of a server.
func (s *State) ForgetTools(d *ledger.PinDecision, r *Record) error {
	tools := []string{d.Tool}
	if d.Tool == "" {
		if k := s.keys[d.Key]; k != nil {
			tools = slices.Sorted(maps.Keys(k.pins.server(d.Server)))
		}
		if len(tools) == 0 {
			return fmt.Errorf("%w: no tool of the server %.80q is pinned", ledger.ErrNotFound, d.Server)
		}
	}
	first := *d
	first.Tool = tools[0]
	k, _, err := s.decidedPin(&first, r)
	if err != nil {
		return err
	}
	effect := &PinsEffect{Server: d.Server}
	for _, tool := range tools {
		effect.Tools = append(effect.Tools, PinEffect{Tool: tool, Change: ledger.ToolForgotten})
	}
	r.Kind, r.Key, r.Now, r.Pins = ledger.PinsChanged, d.Key, max(k.now, d.At), effect
	return nil
}

// decidedPin returns the pin that an operator decides on.
func (s *State) decidedPin(d *ledger.PinDecision, r *Record) (*keyState, pin, error) {
	r.reset()
	if d.At < 0 || d.At > ledger.MaxTime {
		return nil, pin{}, fmt.Errorf("%w: a decision on a tool at %d: use Unix nanoseconds", ledger.ErrInvalid, d.At)
	}
	k, err := s.pinner(d.Key)
	if err != nil {
		return nil, pin{}, err
	}
	p, pinned := k.pins.server(d.Server)[d.Tool]
	if !pinned {
		return nil, pin{}, fmt.Errorf("%w: the tool %.80q of the server %.80q is not pinned", ledger.ErrNotFound, d.Tool, d.Server)
	}
	return k, p, nil
}

func (s *State) applyPins(k *keyState, lsn uint64, r *Record) error {
	if k.pins == nil {
		k.pins = &pinTable{servers: map[string]map[string]pin{}}
	}
	tools := k.pins.servers[r.Pins.Server]
	if tools == nil {
		tools = map[string]pin{}
		k.pins.servers[strings.Clone(r.Pins.Server)] = tools
	}
	for i := range r.Pins.Tools {
		e := &r.Pins.Tools[i]
		before, pinned := tools[e.Tool]
		after, err := before.changedBy(e, pinned, lsn, r.Now)
		if err != nil {
			return fmt.Errorf("the tool %q: %w", e.Tool, err)
		}
		k.pins.bytes += after.size() - before.size()
		if e.Change == ledger.ToolForgotten {
			delete(tools, e.Tool)
		} else {
			tools[strings.Clone(e.Tool)] = after
		}
	}
	if len(tools) == 0 {
		delete(k.pins.servers, r.Pins.Server)
	}
	if len(k.pins.servers) == 0 {
		k.pins = nil
	}
	return nil
}

func (p *pin) size() int { return p.accepted.size + p.changed.size }

// changedBy returns what becomes of a pin.
func (p pin) changedBy(e *PinEffect, pinned bool, lsn uint64, now int64) (pin, error) {
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

// Pins returns the pins of a key, of one server or, without a name, of all, in the order of their names.
func (s *State) Pins(key ledger.ID, server string) (all []ledger.Pin) {
	k := s.keys[key]
	if k == nil || k.pins == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(k.pins.servers)) {
		if server != "" && server != name {
			continue
		}
		tools := k.pins.servers[name]
		for _, tool := range slices.Sorted(maps.Keys(tools)) {
			p := tools[tool]
			all = append(all, ledger.Pin{Server: name, Tool: tool, Accepted: p.accepted.view(), Changed: p.changed.view()})
		}
	}
	return all
}

func (d definition) view() ledger.Definition { return ledger.Definition{SHA256: d.sum, At: d.at} }

// Pin returns a pin, and the LSNs of the records that have the texts of its definitions, 0 where there is none.
func (s *State) Pin(key ledger.ID, server, tool string) (p ledger.Pin, accepted, changed uint64, found bool) {
	k := s.keys[key]
	if k == nil {
		return p, 0, 0, false
	}
	kept, found := k.pins.server(server)[tool]
	if !found {
		return p, 0, 0, false
	}
	p = ledger.Pin{Server: server, Tool: tool, Accepted: kept.accepted.view(), Changed: kept.changed.view()}
	return p, kept.accepted.lsn, kept.changed.lsn, true
}

// Definition returns the definition of a tool that r records, nil where it does not record one.
func (r *Record) Definition(key ledger.ID, server, tool string) []byte {
	if r.Kind != ledger.PinsChanged || r.Key != key || r.Pins.Server != server {
		return nil
	}
	for i := range r.Pins.Tools {
		if r.Pins.Tools[i].Tool == tool {
			return r.Pins.Tools[i].Definition
		}
	}
	return nil
}

// view returns what an event says of the pins.
func (e *PinsEffect) view() []ledger.PinView {
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

func (e *PinsEffect) append(b []byte) []byte {
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

func readPinsEffect(d *decoder) *PinsEffect {
	e := &PinsEffect{}
	e.Server = d.Text(ledger.MaxServerName)
	n := d.Uvarint()
	d.Check(n > 0 && n <= ledger.MaxPinnedTools && e.Server != "", "pins of no tool, of too many, or of no server")
	for i := uint64(0); i < n && d.Problem() == ""; i++ {
		t := PinEffect{Tool: d.Text(ledger.MaxToolName), Change: ledger.PinChange(d.Byte())}
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

func (t *pinTable) appendSnapshot(b []byte) []byte {
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

func readPins(d *decoder) *pinTable {
	n := d.Count()
	if n == 0 {
		return nil
	}
	t := &pinTable{servers: make(map[string]map[string]pin, n)}
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

func readDefinition(d *decoder) (read definition) {
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
