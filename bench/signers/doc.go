// Command signers compares two libraries that sign with ML-DSA-65, circl, which the service uses, and
// github.com/emmansun/gmsm: what signing costs with each, whether the time depends on the key, and what one signature for a
// group of attestations would cost.
//
//	go run . -rounds 300 -samples 20000 -seed 1
//	go test -v . -keys 1000000
//
// The tests hold that both libraries make the same signatures, and name the published vectors that gmsm fails. It is a
// module of its own, so that the product does not depend on gmsm. ../NOTES.md says what came of it.
package main
