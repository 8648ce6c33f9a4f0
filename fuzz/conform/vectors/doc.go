// Package vectors makes the conformance vectors: policies and requests with the decisions that the oracle expects of them, in
// files that need no Go, in the layout of Wycheproof. A test has a trace, which is what happens to two fresh API keys: requests at
// given times, and the operator's decisions on holds; the last step is what it is about. docs/conform.md says how they are read.
//
// The files follow from a seed alone, and a test compares those in docs/vectors/conformance with it.
package vectors
