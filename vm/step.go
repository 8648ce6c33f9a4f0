package vm

import (
	"bailiff/vm/amount"
	"bailiff/vm/match"
)

// A step is an instruction as it runs.
type step struct {
	run func(*Machine, *step) *step // does it, and returns the next step
	// Where it goes on: a test where it holds and where it does not; all others at D (yes) or at the next step (no).
	yes, no     *step
	constant    *constant      // of a test
	table       *switchTable   // of a switch; its targets are steps of the route
	counter     *Counter       // of a reservation
	limit       *amount.Amount // of an amount: what the next step holds it against, if it does
	guard       *guard
	Instruction        // D is an instruction of the program, as is
	next        uint16 // the one behind it
	pc          uint16 // where the instruction is in the program
}

// after returns where a test goes on.
func (s *step) after(holds bool) *step {
	if holds {
		return s.yes
	}
	return s.no
}

// behind returns the step behind a test, where it goes on if it can't be judged.
func (s *step) behind() *step {
	if s.A&bitUnless != 0 {
		return s.yes
	}
	return s.no
}

// A switchTable says where a step goes on: the targets of its cases are indexes of steps.
type switchTable struct {
	match.Table
	steps []step
}
