// Package mutants sees to it that the differential test can fail: each [Mutant] is a small fault in the compiler, of the
// kind that somebody might make, and the test of this package (build tag mutants, `make mutants`) builds the compiler
// with one fault at a time and expects that comparing with the oracle finds it, on the fixed pairs alone. Faults in the
// gateways are found by the attack of package evm, which executes what they forward, faults in the forms of values by the laws
// about them, and faults in what the reader of commands evaluates by the seeds of package bash.
//
// A mutant is an edit of one file that must match exactly once, so that a change of the compiler can't leave a mutant
// behind that mutates nothing.
package mutants
