// Package frame has what the sections of a policy have in common: the form of their rows ([Section], [Key]), the readers of
// values, what collects findings ([Checker]), and what writes the program ([Emitter]).
//
// It knows no section. The typed sections of a policy are [Parts], of which [Part] finds one by its type.
package frame
