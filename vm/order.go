package vm

import "fmt"

// A space is one of the tables that operands are indexes of.
type space uint8

const (
	fieldSpace space = iota
	ruleSpace
	constantSpace
	tableSpace
	counterSpace
	spaceCount
)

var spaceNames = [spaceCount]string{
	fieldSpace: "field", ruleSpace: "rule", constantSpace: "constant", tableSpace: "table", counterSpace: "counter",
}

// A program's tables are in the order in which the code first uses their rows, and hold nothing else, so
// that the same code has the same bytes however it was put together.

// walk visits every index in a program: those of each instruction in turn, and behind the first use of a
// counter its own. The visitor says whether it was the first use; it may change the index.
func (p *Program) walk(visit func(s space, index *uint16) (first bool, err error)) error {
	for pc := range p.code {
		in := &p.code[pc]
		row := &specs[in.Op]
		if row.b != noB {
			if _, err := visit(fieldSpace, &in.B); err != nil {
				return fmt.Errorf("instruction %d: %w", pc, err)
			}
		}
		space, isIndex := row.c.space()
		if !isIndex {
			continue
		}
		index := in.C
		first, err := visit(space, &in.C)
		if err == nil && first && space == counterSpace {
			err = p.counters[index].walk(visit)
		}
		if err != nil {
			return fmt.Errorf("instruction %d: %w", pc, err)
		}
	}
	return nil
}

// walk visits the indexes in a counter.
func (c *Counter) walk(visit func(s space, index *uint16) (bool, error)) error {
	if _, err := visit(ruleSpace, &c.Rule); err != nil {
		return err
	}
	for _, slot := range []*uint16{&c.Amount, &c.Group, &c.Subgroup} {
		if *slot == NoSlot {
			continue
		}
		if _, err := visit(fieldSpace, slot); err != nil {
			return err
		}
	}
	return nil
}

// space returns the table that operand C is an index of.
func (c operandC) space() (s space, ok bool) {
	switch c {
	case cRule:
		return ruleSpace, true
	case cCounter:
		return counterSpace, true
	case cTable:
		return tableSpace, true
	case cTexts, cHosts, cPaths, cPattern, cAmount, cGlobs:
		return constantSpace, true
	}
	return 0, false
}

// sizes returns the number of rows of each table.
func (p *Program) sizes() [spaceCount]int {
	return [spaceCount]int{
		fieldSpace: len(p.fields), ruleSpace: len(p.rules), constantSpace: len(p.constants),
		tableSpace: len(p.tables), counterSpace: len(p.counters),
	}
}

// checkOrder verifies that each row is used, and rows in the order of their first use.
func (p *Program) checkOrder() error {
	var used [spaceCount]int
	sizes := p.sizes()
	err := p.walk(func(s space, index *uint16) (bool, error) {
		i := int(*index)
		switch {
		case i >= sizes[s]:
			return false, fmt.Errorf("%s %d: the program has %d", spaceNames[s], i, sizes[s])
		case i > used[s]:
			return false, fmt.Errorf("%s %d is used before %s %d; rows must be in the order of their first use", spaceNames[s], i, spaceNames[s], used[s])
		case s == tableSpace && i < used[s]:
			return false, fmt.Errorf("table %d is used by two switches; each has its own", i)
		case i < used[s]:
			return false, nil
		}
		used[s]++
		return true, nil
	})
	if err != nil {
		return err
	}
	for s, size := range sizes {
		if used[s] < size {
			return fmt.Errorf("%s %d is never used", spaceNames[s], used[s])
		}
	}
	return nil
}

// renumber brings the tables into the order of checkOrder and drops the rows that nothing uses.
func (p *Program) renumber() error {
	if err := p.checkLimits(); err != nil {
		return err
	}
	var order [spaceCount][]uint16
	var moved [spaceCount][]uint16 // 1 + where a row goes
	sizes := p.sizes()
	for s, size := range sizes {
		moved[s], order[s] = make([]uint16, size), make([]uint16, 0, size)
	}
	err := p.walk(func(s space, index *uint16) (bool, error) {
		if int(*index) >= sizes[s] {
			return false, fmt.Errorf("%s %d: the program has %d", spaceNames[s], *index, sizes[s])
		}
		to := &moved[s][*index]
		first := *to == 0
		if first {
			order[s] = append(order[s], *index)
			*to = uint16(len(order[s]))
		}
		*index = *to - 1
		return first, nil
	})
	if err != nil {
		return err
	}
	p.fields = pick(p.fields, order[fieldSpace])
	p.rules = pick(p.rules, order[ruleSpace])
	p.constants = pick(p.constants, order[constantSpace])
	p.tables = pick(p.tables, order[tableSpace])
	p.counters = pick(p.counters, order[counterSpace])
	return nil
}

// pick returns the rows in that order.
func pick[T any](rows []T, order []uint16) []T {
	picked := make([]T, len(order))
	for i, from := range order {
		picked[i] = rows[from]
	}
	return picked
}

// checkLimits bounds the tables, and sees to it that every operation is known.
func (p *Program) checkLimits() error {
	limits := [spaceCount]int{
		fieldSpace: maxFields, ruleSpace: maxRules, constantSpace: maxConstants, tableSpace: maxTables, counterSpace: MaxCounters,
	}
	for s, size := range p.sizes() {
		if size > limits[s] {
			return fmt.Errorf("the program has %d %ss: at most %d", size, spaceNames[s], limits[s])
		}
	}
	if len(p.code) == 0 || len(p.code) > MaxInstructions {
		return fmt.Errorf("the program has %d instructions: at least 1 and at most %d", len(p.code), MaxInstructions)
	}
	if p.debug != nil && len(p.debug) != len(p.code) {
		return fmt.Errorf("the debug section has %d spans for %d instructions", len(p.debug), len(p.code))
	}
	for pc, in := range p.code {
		if !in.Op.known() {
			return fmt.Errorf("instruction %d: %d is not an operation", pc, in.Op)
		}
	}
	return p.checkWords()
}
