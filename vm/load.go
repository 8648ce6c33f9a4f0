package vm

import (
	"crypto/sha256"
	"fmt"
)

// load verifies a program and derives what running it needs. Every way to a Program ends here.
func (p *Program) load() error {
	if err := p.verify(); err != nil {
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
		p.tables[i].build()
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
		if memory += took; err == nil && memory > maxMemory {
			err = fmt.Errorf("the program's texts to search for take more than %d bytes of memory; use fewer or shorter ones", maxMemory)
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
