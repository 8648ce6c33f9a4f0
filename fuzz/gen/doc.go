// Package gen generates policies and requests for the tests of what the compiler and the machine promise.
//
// A [Policy] is a draft: sections and entries, apart from how they are spelled, so that the same policy can be
// written in several ways, changed by a law, and shrunk. [Policies] and [Cases] are its generators for gopter;
// [NewPolicy] makes one from a [Rand] alone. Policies cover every section and key of the formats 1.x to 2.4, from
// one line to everything at once; [NewFocused] makes small ones whose rules are about how values are spelled.
//
// A request is written for a policy by its [Writer]. It begins as one that the policy would allow; then some aspects
// change a little: another case, one wei more, a subdomain, a quote in the middle of a word. So all of
// ALLOWED, PENDING, DENIED and 400 occur often, and the boundaries of rules most of all.
//
// A [Speller] puts a request into its normal spelling, and into others that say the same; [RespellRules] does so for the
// rules of a policy.
//
// It promises:
//
//   - Everything follows from the seed: the same seed gives the same bytes, on every machine.
//   - Nearly every policy compiles (a test counts them), and every code of a denial or a hold is reached, except for
//     those that a test lists with the reason.
//   - It is independent of what it tests: the values come from lists of its own, never from the compiler's.
package gen
