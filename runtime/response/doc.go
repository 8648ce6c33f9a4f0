// Package response enforces the response rules of a policy (`response.…` of formats 2.2 and 2.3) on what tools answer.
//
// Rules are the rules in the form in which the service signs them, and Rules.Apply enforces them on one result. An Enforcer keeps
// the signed rules of one API key fresh.
//
// What callers may rely on:
//
//   - Without valid rules nothing passes. Rules that this package does not know in every member are not valid.
//   - A result of a tool that the rules do not cover passes as it is, byte for byte, and so does one in which nothing is redacted.
//   - In a result of a covered tool every string counts, wherever it is: texts, structured content, resources, errors, and the
//     names of members. What cannot be read, or is larger or deeper than the bounds, is refused.
//   - Findings depend on the result alone: no clock, no network and no list that changes. The time only ends observing.
package response
