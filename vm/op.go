package vm

// Op is the number of an operation: the first byte of an instruction.
type Op uint8

// The operations. Their numbers are part of the encoding: new ones are added at the end, and a change to the
// meaning of one moves [MachineVersion]. Zero is no operation, so that zeroed memory is no program.
const (
	OpEnd Op = 1 + iota
	OpJump
	OpSwitch
	OpClass
	OpDeny
	OpReject
	OpHold
	OpNote
	OpReserve
	OpKind
	OpIn
	OpStarts
	OpEnds
	OpContains
	OpHost
	OpPath
	OpMatch
	OpScan
	OpHit
	OpAmount
	OpGreater
	OpAtLeast
	OpGlob
	opCount
)

// An Instruction is one step of a program. Which operands an operation has, and what they mean, says its
// row in the table of operations; those that it does not have are zero.
type Instruction struct {
	Op Op
	A  uint8  // modifiers, a class or a register
	B  uint16 // a slot
	C  uint16 // a constant, a table, a rule, a counter or a small literal
	D  uint16 // where to go on: always a later instruction
}

// The bits of operand A of a test.
const (
	bitUnless   = 1 << 0 // jump unless the test holds, instead of if it does
	bitAll      = 1 << 1 // of a list, all elements have to satisfy the test, instead of any
	bitRegister = 1 << 2 // register 1 instead of register 0
	bitElement  = 1 << 3 // of a denial: blame an element of the list in the slot, instead of all of it
)

// operandA says what operand A of an operation means.
type operandA uint8

const (
	noA          operandA = iota
	aSense                // bit 0: unless
	aQuantified           // bit 0: unless, bit 1: all
	aClass                // a Class but NoClass
	aRegister             // bit 2: the register
	aRegisterCmp          // bit 0: unless, bit 2: the register
	aBlame                // bit 3: an element
)

// operandB says what operand B of an operation means.
type operandB uint8

const (
	noB    operandB = iota
	bSlot           // a slot to test
	bBlame          // a slot to blame
)

// operandC says what operand C of an operation means.
type operandC uint8

const (
	noC       operandC = iota
	cRule              // an index of the rules
	cCounter           // an index of the counters
	cTable             // an index of the tables
	cKinds             // a mask of kinds, bit 0 for Missing
	cDecimals          // a number of decimals
	cHit               // an index into the set of the scan before
	cTexts             // a constant: a set of texts
	cHosts             // a constant: a set of hosts
	cPaths             // a constant: a set of path patterns
	cPattern           // a constant: a regular expression
	cAmount            // a constant: an amount
	cGlobs             // a constant: a set of patterns with stars
)

// operandD says what operand D of an operation means.
type operandD uint8

const (
	noD operandD = iota
	dTarget
)

// flow says where an operation goes on.
type flow uint8

const (
	flowNext   flow = 1 + iota // at the next instruction
	flowTest                   // at the next instruction or at D
	flowJump                   // at D
	flowSwitch                 // at D or at a case of the table
	flowDeny                   // nowhere (First), at D (All)
	flowEnd                    // nowhere
)

// outcome says what an operation does with a slot that has nothing to test.
type outcome uint8

const (
	noOutcome  outcome = iota // the operation does not test a slot
	isFalse                   // the test is false, and jumps or not as its modifiers say
	isMasked                  // true or false by the mask
	isDefault                 // goes on at D
	isNext                    // goes on at the next instruction: the strict side
	isNothing                 // nothing was found: goes on at D
	isZero                    // counts as zero where an amount is read; a group is a violation
	isViolated                // the counter's rule is violated
)

// A spec is the row of one operation. Names, assembler, disassembler, verifier, cost and reference are all
// derived from it.
type spec struct {
	name string
	a    operandA
	b    operandB
	c    operandC
	d    operandD
	flow flow
	// fixed is what a run of the operation costs at most, without what its constant adds (constants know
	// their own cost). The unit is a simple step, about a nanosecond.
	fixed int
	// missing, invalid, object and empty say what a slot that is missing or null, that is invalid, that holds an
	// object, or that holds an empty list gives.
	missing, invalid, object, empty outcome
	doc                             string
}

// tests reports whether the operation has a sense: whether it jumps if its test holds or unless it does.
func (s *spec) tests() bool { return s.a == aSense || s.a == aQuantified || s.a == aRegisterCmp }

// specs is the table of operations.
var specs = [opCount]spec{
	OpEnd: {name: "end", flow: flowEnd, fixed: 2,
		doc: "Ends the run. The verdict is denied where a rule was violated, else pending where a hold was noted, else allowed."},
	OpJump: {name: "jump", d: dTarget, flow: flowJump, fixed: 2,
		doc: "Goes on at D."},
	OpSwitch: {name: "switch", b: bSlot, c: cTable, d: dTarget, flow: flowSwitch, fixed: 8,
		missing: isDefault, invalid: isDefault, object: isDefault, empty: isDefault,
		doc: "Goes on where table C says for the text of slot B: at its exact case, else at its longest case that the text starts with, else at D."},
	OpClass: {name: "class", a: aClass, flow: flowNext, fixed: 2,
		doc: "Records the class of the intent."},
	OpDeny: {name: "deny", a: aBlame, b: bBlame, c: cRule, d: dTarget, flow: flowDeny, fixed: 6,
		doc: "Records a violation of rule C that blames slot B or, with `element`, the element of its list that decided the last test of a list, if that was a test of slot B. In mode first the run ends; in mode all it continues at D."},
	OpReject: {name: "reject", b: bBlame, c: cRule, flow: flowEnd, fixed: 6,
		doc: "Ends the run in both modes: the request is not valid under this policy, for reason C, and slot B is to blame. Where a rule was violated before (mode all), that verdict is kept instead."},
	OpHold: {name: "hold", c: cRule, flow: flowNext, fixed: 4,
		doc: "Records that rule C asks for a human decision."},
	OpNote: {name: "note", c: cRule, flow: flowNext, fixed: 4,
		doc: "Records rule C as something that the answer's message should mention."},
	OpReserve: {name: "reserve", c: cCounter, flow: flowNext, fixed: 64,
		missing: isZero, invalid: isViolated, object: isViolated, empty: isViolated,
		doc: "Plans to advance counter C: a count by one, a sum by the amount in the counter's slot, a maximum to that amount. An amount that can't be read, or a group or subgroup that has no text, violates the counter's rule, as `deny` would; in mode all the run goes on behind it."},
	OpKind: {name: "kind", a: aSense, b: bSlot, c: cKinds, d: dTarget, flow: flowTest, fixed: 2,
		missing: isMasked, invalid: isMasked, object: isMasked, empty: isMasked,
		doc: "Tests the kind of slot B itself, never of its elements: it holds where the kind is in mask C."},
	OpIn: {name: "in", a: aQuantified, b: bSlot, c: cTexts, d: dTarget, flow: flowTest, fixed: 4,
		missing: isFalse, invalid: isNext, object: isFalse, empty: isFalse,
		doc: "Holds where the text equals an entry of set C."},
	OpStarts: {name: "starts", a: aQuantified, b: bSlot, c: cTexts, d: dTarget, flow: flowTest, fixed: 4,
		missing: isFalse, invalid: isNext, object: isFalse, empty: isFalse,
		doc: "Holds where the text starts with an entry of set C."},
	OpEnds: {name: "ends", a: aQuantified, b: bSlot, c: cTexts, d: dTarget, flow: flowTest, fixed: 4,
		missing: isFalse, invalid: isNext, object: isFalse, empty: isFalse,
		doc: "Holds where the text ends with an entry of set C."},
	OpContains: {name: "contains", a: aQuantified, b: bSlot, c: cTexts, d: dTarget, flow: flowTest, fixed: 4,
		missing: isFalse, invalid: isNext, object: isFalse, empty: isFalse,
		doc: "Holds where an entry of set C occurs anywhere in the text."},
	OpHost: {name: "host", a: aQuantified, b: bSlot, c: cHosts, d: dTarget, flow: flowTest, fixed: 4,
		missing: isFalse, invalid: isNext, object: isFalse, empty: isFalse,
		doc: "Holds where an entry of C covers the host name: `example.com` itself and every host below it, `.example.com` only the hosts below."},
	OpPath: {name: "path", a: aQuantified, b: bSlot, c: cPaths, d: dTarget, flow: flowTest, fixed: 4,
		missing: isFalse, invalid: isNext, object: isFalse, empty: isFalse,
		doc: "Holds where a pattern of C covers the cleaned path. A pattern covers the path that equals it, segment by segment, and all paths below; `*` is any one segment; `**/` in front lets it start at any segment."},
	OpMatch: {name: "match", a: aQuantified, b: bSlot, c: cPattern, d: dTarget, flow: flowTest, fixed: 40,
		missing: isFalse, invalid: isNext, object: isFalse, empty: isFalse,
		doc: "Holds where the RE2 pattern C matches the text, or all of it where the constant says so. A text of more than 4 KiB is judged as invalid."},
	OpScan: {name: "scan", b: bSlot, c: cTexts, d: dTarget, flow: flowTest, fixed: 16,
		missing: isNothing, invalid: isNext, object: isNothing, empty: isNothing,
		doc: "Looks for all entries of set C in the text, or in the elements, at once, and keeps which were found for `hit`. Goes on at D where nothing was found."},
	OpHit: {name: "hit", a: aSense, c: cHit, d: dTarget, flow: flowTest, fixed: 4,
		doc: "Holds where the scan before found entry C of its set. After a scan that met something invalid it goes on at the next instruction, whatever was found."},
	OpAmount: {name: "amount", a: aRegister, b: bSlot, c: cDecimals, d: dTarget, flow: flowTest, fixed: 60,
		missing: isNext, invalid: isNext, object: isNext, empty: isNext,
		doc: "Reads the text as an amount in human units with C decimals (in base units where the slot says so) into the register and goes on at D. Any other text leaves the register unset, and the run continues at the next instruction."},
	OpGreater: {name: "gt", a: aRegisterCmp, c: cAmount, d: dTarget, flow: flowTest, fixed: 6,
		doc: "Holds where the register is greater than amount C. A register that was not set goes on at the next instruction."},
	OpAtLeast: {name: "ge", a: aRegisterCmp, c: cAmount, d: dTarget, flow: flowTest, fixed: 6,
		doc: "Holds where the register is amount C or more. A register that was not set goes on at the next instruction."},
	OpGlob: {name: "glob", a: aQuantified, b: bSlot, c: cGlobs, d: dTarget, flow: flowTest, fixed: 4,
		missing: isFalse, invalid: isNext, object: isFalse, empty: isFalse,
		doc: "Holds where a pattern of C covers the whole text, byte for byte but for its stars: in style mailbox `*` is any run without `@`; in style dotted any run without `.`, and at the end of the pattern any run at all. A run may be empty."},
}

// known reports whether o is an operation.
func (o Op) known() bool { return o > 0 && o < opCount }

// String returns the name that the assembler uses, or "" for what is no operation.
func (o Op) String() string {
	if !o.known() {
		return ""
	}
	return specs[o].name
}

// opNames finds an operation by its name.
var opNames = func() map[string]Op {
	names := make(map[string]Op, len(specs))
	for op := Op(1); op < opCount; op++ {
		names[specs[op].name] = op
	}
	return names
}()
