// Package hook translates between the hooks of coding agents and the service: an event that a host writes before it calls a
// tool becomes the request for a decision, and the decision becomes the answer that this host understands. The package does
// no I/O, and decides nothing.
//
// # What it promises
//
// An event is read strictly: one JSON object of valid UTF-8, no repeated names, nothing after it. An event that cannot be read,
// or that lacks its tool or what the tool works on, is an error, and the caller answers an error with a denial. A tool
// that the table does not have becomes an action of its own name: no tool is skipped.
//
// An answer is one JSON object, or nothing, with only the members that its host knows, and a denial always has a reason. Where
// the host is not known, the denial is exit code 2 with a plain text on standard error, which every host takes as one.
//
// # Tables
//
// Hosts are rows of [Hosts], tools are rows of [Tools]. Reading, answering, installing and docs/hooks.md use the same rows.
package hook
