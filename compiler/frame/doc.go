// Package frame has what the sections of a policy have in common: the form of their rows ([Section], [Key]), the readers of
// values, what collects findings ([Checker]), and what writes the program ([Emitter]).
//
// It knows no section. The typed sections of a policy are [Parts], of which [Part] finds one by its type.
//
// The form of rows is in schema.go; the types of values that a row can name are in reader.go and what they read by in value.go
// and entries.go; findings about lists in the form of another format are in foreign*.go, other warnings in warn*.go; what emits
// rules that several sections have is in emitter.go, controls.go (approvals, shims) and counters.go (limits).
package frame
