// Package policytest runs the unit tests that are beside a policy: intents, and what the policy is to say of them.
//
// # Files
//
// The tests of NAME.md are in NAME.test.yaml, in NAME_test.yaml, or in one with the ending .yml or .json, in the same
// folder. A file is YAML (JSON is YAML too):
//
//	policy: other.md                # optional: the policy, relative to this file
//	defaults:                       # optional: merged into every intent, object by object
//	  chainId: 8453
//	  metadata: {desk: desk-1}
//	tests:
//	  - name: a small transfer passes
//	    intent: {action: wallet.transfer, amount: "0.1"}
//	    expect: {status: ALLOWED}
//	  - name: a shell is for shims
//	    shim: true                  # the API key's provenance is a trusted shim
//	    intent: {action: bash, command: ls}
//	    expect: {status: DENIED, rule: tool_calls.allowed}
//	  - name: a second call within the hour is one too many
//	    steps:
//	      - intent: {action: http, url: "https://example.com/", method: GET}
//	        expect: {status: ALLOWED}
//	      - expect: {status: DENIED, code: SVC_LOOP_LIMIT_EXCEEDED}
//	      - advance: 1h
//	        expect: {status: ALLOWED}
//
// An intent is written as in a request or, in short, without the object around it: framework, agentId, txCommit,
// userOpHash, chainId, context and request_nonce are the request's, all else belongs into its `intent`. What every
// request needs and a test has nothing to say about is filled in: framework, agentId, and txCommit or userOpHash.
// Numbers are taken digit by digit, and amounts are texts, as in every request.
//
// `expect` has a status (ALLOWED, DENIED, PENDING, or ERROR for a request that is not valid) and, where wanted, the
// error_code, the matched_rule, and a part of the message.
//
// Each test starts with fresh counters, at 12:00 on the first of January 2030, UTC. Its steps share counters, holds and
// clock. A step may leave its intent out, which is then that of the step before; repeat sends it so often, each time
// with the same expectation; advance moves the clock first (90m, 24h); approve or deny, if true, first resolves the
// hold that was opened last. An agent's key and a shim's have counters of their own, as any two keys do.
//
// A rule that no verdict of the policy can name is an error ([File.Check]): a test that names one that was misspelt, or
// that the policy has lost, would otherwise only say that another rule was matched.
//
// Unknown keys, keys that are twice, aliases and tags are errors, with line and column.
//
// # Coverage
//
// A rule of the policy, at its line, is covered if the verdict of some step that met its expectation names it: as
// matched_rule, or in the notes of the message.
package policytest
