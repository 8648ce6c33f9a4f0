package vm

import (
	"crypto/sha256"
	"fmt"

	"bailiff/vm/match"
	"bailiff/vm/wire"
)

// load verifies a program and derives what running it needs. Every way to a Program ends here.
func (p *Program) load() error {
	if err := p.verify(); err != nil {
		return fmt.Errorf("vm: %w", err)
	}
	if err := p.findTests(); err != nil {
		return fmt.Errorf("vm: %w", err)
	}
	p.canonical = p.appendCanonical(make([]byte, 0, 1024+8*len(p.code)+256*len(p.rules)+64*len(p.constants)))
	if len(p.canonical) > MaxBytes {
		return fmt.Errorf("vm: the program takes %d bytes: at most %d", len(p.canonical), MaxBytes)
	}
	if err := p.build(); err != nil {
		return fmt.Errorf("vm: %w", err)
	}
	return nil
}

// build derives what running a verified program needs.
func (p *Program) build() error {
	p.hash = sha256.Sum256(p.canonical)
	p.slots = make(map[string]uint16, len(p.fields))
	for i, name := range p.fields {
		p.slots[name] = uint16(i)
	}
	p.actionSlot = NoSlot
	if slot, ok := p.slots[actionField]; ok {
		p.actionSlot = slot
	}
	for i := range p.tables {
		p.tables[i].Build()
	}
	memory, kept := 0, 0
	for pc, in := range p.code {
		if s, ok := specs[in.Op].c.space(); !ok || s != constantSpace {
			continue
		}
		before := p.constants[in.C].memory()
		took, err := p.constants[in.C].build(in.Op)
		kept += p.constants[in.C].memory() - before
		if beyond := p.within(kept); beyond != nil {
			return beyond
		}
		if memory += took; err == nil && memory > match.MaxMemory {
			err = fmt.Errorf("the program's texts to search for take more than %d bytes of memory; use fewer or shorter ones", match.MaxMemory)
		}
		if err != nil {
			return fmt.Errorf("instruction %d (%s): %w", pc, in.Op, err)
		}
	}
	if err := p.findCost(); err != nil {
		return err
	}
	if err := p.findActions(); err != nil {
		return err
	}
	p.findMemory()
	err := p.within(p.memory)
	p.limit = Limit{} // whose function may hold what the program must not keep
	return err
}

// Decode reads a program, verifies and loads it. It accepts exactly what [Program.MarshalBinary] returns: the
// bytes of a decoded program are the bytes that it was decoded from.
func Decode(data []byte) (*Program, error) {
	if len(data) > 2*MaxBytes {
		return nil, fmt.Errorf("vm: a program of %d bytes: at most %d", len(data), 2*MaxBytes)
	}
	r := &reader{wire.NewReader(data, maxText)}
	p := r.program()
	if r.Err() == nil && r.Left() > 0 {
		p.debug = r.debug(len(p.code))
		r.words(p)
		r.amountTests(p)
	}
	if r.Err() == nil && r.Left() > 0 {
		r.Failf("%d bytes follow the program", r.Left())
	}
	if r.Err() != nil {
		return nil, fmt.Errorf("vm: byte %d: %w", len(data)-r.Left(), r.Err())
	}
	if err := p.load(); err != nil {
		return nil, err
	}
	return p, nil
}

// Assemble reads what [Program.Disassemble] writes, verifies and loads it. Blank lines, white space between
// words and comments from `;` to the end of the line say nothing.
func Assemble(text string) (*Program, error) {
	p, err := assemble(text)
	if err != nil {
		return nil, err
	}
	if err := p.load(); err != nil {
		return nil, err
	}
	return p, nil
}
