// Package compiler turns the text of a policy into a verified program that decides.
//
// It works in two steps. First the syntax tree of package grammar is checked against one table of sections and keys
// ([Schema]) and becomes a typed [Policy]. Then, if there is no error, the policy is emitted as a program for package vm.
// Package lint warns about policies that compile but probably do not mean what they say; no program depends on it.
//
// Each section has a file in package sections or, if it is a resource profile, in package profiles. The file has the
// section's rows, its typed policy, the readers of its values, and the emitter of its rules; a new key goes there. What these
// files share is in package frame. This package puts the sections together: their table (sections.go), the policy that they
// make, the order in which a program judges (emit.go, and gates.go for shims and approvals), bounds on its time and memory
// (weigh.go), and findings that are made by mending the text and reading it again (recheck.go).
//
// It promises:
//
//   - Compiling is a pure function of the text: the same bytes give the same program, byte for byte.
//   - Every error of a file is reported in one pass, with a stable code, the place, and what to do.
//   - What the text says is enforced or refused. A key that this version of bailiff does not enforce yet is an
//     error, never silence.
//   - Where a value can't be read the program takes the strict side.
//   - No text makes it panic, and its time and memory are bounded by the length of the text.
package compiler
