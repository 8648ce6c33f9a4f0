package laws

import "bailiff/fuzz/gen"

// A Law is a row of [Table].
type Law struct {
	Name string // of its function, by which the conformance vectors name it too
	Says string

	// Of laws of a house:
	Batches  int // how many a run takes
	Requests int // of each batch
	Check    func(*House, *gen.Batch) string
	Focused  bool // the batches try how values are spelled
}

// OneForm is what the law says whose planted faults are one for each form.
const OneForm = "a value that rules are about has one form"

// Table has all laws; some have two rows, for batches of two kinds. Those without Check are about a [Service]: their functions take
// its ways to answer.
var Table = []Law{
	{"MoreDenials", "one more denial lets nothing through", 1000, 25, (*House).MoreDenials, false},
	{"HigherLimits", "a higher limit denies nothing", 1000, 25, (*House).HigherLimits, false},
	{"RequestSpelling", "the spelling of a request changes nothing", 700, 25, (*House).RequestSpelling, false},
	{"Respelling", "a value has one form", 500, 25, (*House).Respelling, false},
	{"Respelling", OneForm, 900, 25, (*House).Respelling, true},
	{"RuleSpelling", "the spelling of a rule changes nothing", 500, 25, (*House).RuleSpelling, false},
	{"RuleSpelling", "the spelling of a rule about a form changes nothing", 800, 25, (*House).RuleSpelling, true},
	{"DeniedParts", "a part of an address is found in any case", 300, 0, (*House).DeniedParts, false},
	{"Lists", "a list around an object escapes no denial", 600, 25, (*House).Lists, true},
	{"SeveralPaths", "a list of paths passes nothing that one of them does not", 700, 20, (*House).SeveralPaths, true},
	{"SeveralPaths", "of a list of paths each is judged by every list", 700, 20, (*House).SeveralPaths, false},
	{"IntegerAmounts", "an amount in base units has one hash", 200, 25, (*House).IntegerAmounts, false},
	{"PolicySpelling", "the spelling of a policy and the order of lists change nothing", 700, 25, (*House).PolicySpelling, false},
	{"LineOrder", "the order of lines changes no status", 700, 25, (*House).LineOrder, false},
	{"Formatting", "formatting changes no program", 400, 0, (*House).Formatting, false},
	{"CompilesTheSame", "compiling twice gives the same bytes", 300, 0, (*House).CompilesTheSame, false},
	{"AnyText", "any text compiles or does not", 800, 0, (*House).AnyText, false},
	{"AnyProgram", "any bytes run or do not", 400, 0, (*House).AnyProgram, false},
	{Name: "TestRunSaysTheSame", Says: "a test-run says what authorize says"},
	{Name: "ClaimsOfSpellings", Says: "a respelling gets the same claims and the same hold"},
	{Name: "UsageParts", Says: "of several reports the highest parts count"},
}
