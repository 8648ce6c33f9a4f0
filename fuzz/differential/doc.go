// Package differential holds the compiler and its machine to the oracle, which judges the same intents by
// interpreting the policy's tree: two readings of the same documents that share as little code as they can. For every
// policy and every request that package gen makes, status, code, rule, holds, notes and the plan of reservations must
// be the same, and the machine's mode all must begin with what its mode first says.
//
// [Hunt] looks for a [Divergence] among many pairs, with every core that it is given; [Divergence.Shrink] makes it
// small; the tests replay for ever each one that was ever found, from testdata/found.
//
// Everything follows from the seed: batch i of a hunt has the seed of the hunt plus i, so that a hunt with the seed
// that a divergence names meets it first.
package differential
