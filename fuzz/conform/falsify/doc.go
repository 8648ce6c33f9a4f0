// Package falsify is a proxy in front of a service that falsifies its answers, to see that package conform notices: each
// [Mutant] is one fault, in some of the answers to which it applies. [Named] are faults that attacks have used, in this
// service or in others; [Drawn] are operators on answers with parameters that a seed draws.
package falsify
