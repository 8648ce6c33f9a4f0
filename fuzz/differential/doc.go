// Package differential compares the compiler and its machine with the oracle, which judges the same intents by
// interpreting the policy's tree: two readings of the same documents that share as little code as they can. For every
// policy and every request that package gen makes, status, code, rule, holds, notes and the plan of reservations must
// be the same, and the list that the machine gives in mode All must begin with its answer in mode First.
//
// [Hunt] looks for a [Divergence] among many pairs, with every core that it is given; [Divergence.Shrink] makes it
// small; the tests replay each one that was ever found, from testdata/found.
//
// Everything follows from the seed: batch i of a hunt has the seed of the hunt plus i, so that a hunt with the seed
// that a divergence names meets it first.
package differential
