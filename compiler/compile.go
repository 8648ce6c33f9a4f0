package compiler

import (
	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/grammar"
	"bailiff/vm"
)

// Revision tells programs of one text apart: it rises with every change to what a policy that compiles is compiled to, so
// that programs which are kept are made anew.
const Revision = 5

// Compiled is a policy on its way from text to program, as far as it came.
type Compiled struct {
	// Source is the text, and File its syntax tree; both are there even if there are errors.
	Source *grammar.Source
	File   *grammar.File

	// Policy is the typed policy. Where there are errors it lacks what they are about.
	Policy *Policy

	// Whole says that the typed policy lacks nothing that the text says, and Foreign are the parts of lists that are written in
	// the form of another format: what these say is not known.
	Whole   bool
	Foreign []grammar.Span

	// Program decides. It is nil exactly where there are errors.
	Program *vm.Program

	// Hash is the policyHash: the SHA-256 in hexadecimal of the bytes above the signature block.
	Hash string

	// Version is the version of the policy format, "2.1.0"; empty where the text has no usable one.
	Version string

	// Signature is the 64 bytes of the signature block, nil where the policy is unsigned. Nothing has been
	// verified.
	Signature []byte
}

// Compile compiles a policy, signed or not. It returns the findings of the grammar and of this package, sorted by position;
// errors leave Program nil, warnings do not. Package lint has the warnings that no compilation needs.
func Compile(src *grammar.Source) (*Compiled, grammar.Diagnostics) {
	return compile(src, frame.Options{Limit: vm.Limit{Memory: maxMemory}})
}

// CompileWithin is Compile until stop says that there is no time left: then the one finding is codes.CompileTime.
func CompileWithin(src *grammar.Source, stop func() bool) (*Compiled, grammar.Diagnostics) {
	return compile(src, frame.Options{Limit: vm.Limit{Memory: maxMemory, Stop: stop}})
}

// CompileInForce is Compile for a text that is in force already: what is an error since then is a warning, and the text
// means what it meant (decisions, section 2, "Matching").
func CompileInForce(src *grammar.Source) (*Compiled, grammar.Diagnostics) {
	return compile(src, frame.Options{Deferred: []grammar.Code{
		grammar.CodeSectionLetters, grammar.CodeLookalike, codes.BooleanLetters, codes.AllowedBlocked, codes.Ref, codes.Memory, codes.Effort,
		codes.ListQuoted, codes.ListMarks, codes.ListSeparator, codes.Placeholder, codes.SlashComment, codes.ClientName,
	}})
}

func compile(src *grammar.Source, options frame.Options) (*Compiled, grammar.Diagnostics) {
	file, found := grammar.Parse(src)
	for i := range found {
		found[i] = frame.Deferring(found[i], options.Deferred)
	}
	found = append(withVersion(file, found), strayHeadings(file)...)
	c := frame.NewChecker(file, found, options)
	checkSections(c)
	if rechecked, formal := recheck(src, found, options.Limit, maxRechecks); formal {
		found = rechecked
	} else {
		found = append(nameSymbols(src, found), c.Found...)
	}
	version := grammar.Version{}
	if file.Version != nil {
		version = *file.Version
	}
	result := &Compiled{
		Source:    src,
		File:      file,
		Policy:    policyOf(version, c.Parts),
		Whole:     !c.Partial,
		Foreign:   c.Foreign,
		Hash:      grammar.PolicyHash(file.Framed.Body),
		Signature: file.Framed.Signature,
	}
	if file.Version != nil {
		result.Version = file.Version.Text
	}
	if c.Expired() {
		result.Whole = false
		return result, grammar.Diagnostics{tooLong(&version)}
	}
	if !found.HasErrors() {
		program, problems := emit(&version, c.Parts, file, options.Limit)
		if len(problems) == 1 && problems[0].Code == codes.CompileTime {
			result.Whole = false
			return result, problems
		}
		for _, d := range problems {
			found = append(found, frame.Deferring(d, options.Deferred))
		}
		if !found.HasErrors() {
			result.Program = program
		}
	}
	return result, found.Sorted()
}
