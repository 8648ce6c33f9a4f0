package vm

// Where a rule needs a value, it tests that there is one, denies if not, and goes on with a test of the value itself, which
// has to look at its kind once more. If the first leads to the second for all kinds that the second is about, the second
// runs in the place of both, and puts the first aside for values of other kinds.

// needs are the kinds of values for which an operation must be what follows, if it is to run in the place of a test of kinds:
// the others are the steps' slow way. None are for operations that never do. A switch knows of each step which texts it is for.
var needs = [opGuard + 1]Kind{
	OpSwitch: String, OpAmount: String | Number,
	OpIn: textual | List, OpStarts: textual | List, OpEnds: textual | List, OpContains: textual | List, OpHost: textual | List,
	OpPath: textual | List, OpGlob: textual | List, OpMatch: textual | List,
}

// asides lets tests of values run in the place of tests of kinds.
func asides(steps []step) {
	for i := range steps {
		if steps[i].Op != OpKind {
			continue
		}
		test, accepts := steps[i].ahead()
		if needed := needs[test.Op]; needed != 0 && accepts&needed == needed {
			kind := steps[i]
			steps[i] = *test
			steps[i].aside, steps[i].accepts = &kind, accepts&textual
		}
	}
}

// ahead returns the test that a test of kinds leads to unless it denies, and for which kinds, if that test is of the same
// value.
func (s *step) ahead() (test *step, accepts Kind) {
	test = s.no
	if s.no.Op == OpDeny || s.no.Op == OpReject {
		test = s.yes
	} else if s.yes.Op != OpDeny && s.yes.Op != OpReject {
		return test, 0
	}
	if test.B != s.B {
		return test, 0
	}
	for kind := Null; kind != 0; kind <<= 1 {
		if s.after(s.C&uint16(kind) != 0) == test {
			accepts |= kind
		}
	}
	return test, accepts
}
