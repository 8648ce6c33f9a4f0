// Package conform is a black-box conformance kit: it asks an implementation of docs/specification.md over HTTP, and compares
// every answer with that of the oracle, a second implementation that was written from the documents alone. docs/conform.md
// says how it is used.
//
// A [Kit] works through units. A unit is a generated policy, signed by an operator's key that the kit makes, deployed for a
// pair of API keys (an agent's and a shim's), and some generated requests, which share counters, usage and holds. What the
// service has to remember, [differential.History] remembers as well. Each unit belongs to a [Level].
//
// The kit promises:
//
//   - Everything follows from the seed, except for API keys, ids, times, and a comment that makes the text of each policy
//     unique, so that rollback protection does not refuse a second run.
//   - It sets no clock. The service's time is that of its Date headers; within 2 seconds of an hour's border nothing is
//     sent, and what needs another hour or day is counted as not run.
//   - A rate limit that it meets is named in the report, and all units wait for it.
//   - Pairs of requests are held to laws, whatever the oracle thinks of them.
//   - A [Divergence] is shrunk to a small policy and story, if there are fresh keys for that, and printed as a script of curl.
package conform
