// Package frame has what the sections of a policy share: the form of their rows ([Section], [Key]), the readers of values, the
// [Checker], which collects findings, and the [Emitter], which writes the program.
//
// It knows no section. The typed sections of a policy are its [Parts]; [Part] finds one of them by its type.
//
// The form of rows is in schema.go. The types of values that a row can name are in reader.go; they read by value.go and
// entries.go. Findings about lists that are written as in another format are in foreign*.go, other warnings in warn*.go. Rules
// that several sections have are emitted by emitter.go, controls.go (approvals, shims) and counters.go (limits).
package frame
