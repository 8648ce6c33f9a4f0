// Package mutants is the project's mutation test: it shows that the other tests can fail. Each [Mutant] is a small fault of the
// kind that a programmer might make. The test of this package (build tag mutants, `make mutants`) builds the product with one
// fault at a time. A fault in the compiler must be found by comparing with the oracle, on the fixed pairs alone; one in the
// gateways by the attack of package evm, which executes what they forward; one in the forms of values by the laws about them;
// and one in how commands are evaluated by the seeds of package bash. The comment of each other list names the test that must
// find its faults.
//
// A mutant is an edit of one file that must match exactly once, so that a change of the product can't leave a mutant
// that mutates nothing.
package mutants
