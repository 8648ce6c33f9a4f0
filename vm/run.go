package vm

// Run runs p over frame, whose values are at the indexes of [Program.Fields]; what a short frame lacks is
// missing. Any program and any frame give a result. It belongs to the machine and is valid until the next
// run, and it refers to nothing of the frame. A machine grows as its largest result needs; beyond that, Run
// allocates nothing.
func (m *Machine) Run(p *Program, frame []Value, mode Mode) *Result {
	m.reset(frame, mode)
	r := p.route(frame)
	m.result.Class = r.class
	for s := r.start; s != nil; {
		s = s.run(m, s)
	}
	m.frame = nil
	return m.result.settle()
}
