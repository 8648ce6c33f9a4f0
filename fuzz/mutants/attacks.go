package mutants

// Attacked are faults that the corpus of attacks (package attacks) has to find, one or more for each class that other suites have no
// mutants for.
var Attacked = []Mutant{
	{"Punycode with other letters is a host", "vm/form/httpurl/host.go", "if !ascii && mixesPunycode(text) {", "if false {"},
	{"a number that is too large wraps", "vm/form/httpurl/host.go", "err != nil || n >= limit {", "err != nil || n >= limit && false {"},
	{"user information passes", "vm/form/httpurl/url.go", `return "", "", ErrUserinfo`, `authority = authority[strings.LastIndexByte(authority, '@')+1:]`},
	{"ignored characters count in paths", "vm/form/fspath/clean.go", "strings.Map(dropIgnored, text)", "text"},
	{"any name reference is plain", "vm/form/command/flow.go", `return target != "" && strings.IndexByte(target, '[') < 0 && !isEvaluated(target)`, "return true"},
	{"marks that are not shown pass in recipients", "vm/form/email/email.go", "|| unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector))", ")"},
	{"a method of accounts is missing", "vm/form/calldata/method.go", "\truns(Selector{0x09, 0xc5, 0xea, 0xbe}, \"execute(bytes)\"),\n", ""},
	{"a base64 text has several spellings", "runtime/attest/base64.go", "base64.RawURLEncoding.Strict()", "base64.RawURLEncoding"},
	{"the host of Azure's machines is public", "runtime/webhook/address.go", "\"168.63.129.16/32\",", ""},
	{"IPv6 holds no IPv4 address", "runtime/webhook/address.go", "\"2002::/16\",", ""},
	{"a resolution is good at any time", "runtime/holds/holds.go", "resolutionTolerance = 300 * time.Second", "resolutionTolerance = 300 * time.Hour"},
	{"a header line may end in a bare LF", "httpd/strict/framing.go", "case len(line) < 2 || line[len(line)-2] != '\\r':", "case len(line) < 2:"},
	{"a header may go on in the next line", "httpd/strict/framing.go", `return "a header goes on in a second line; write it in one", true`, "continue"},
	{"a request may have two lengths", "httpd/strict/framing.go", "lengths+encodings > 1", "lengths+encodings > 2"},
	{"a body nests deeper", "runtime/intent/tape.go", "const maxDepth = 32", "const maxDepth = 48"},
}
