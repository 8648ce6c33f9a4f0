// Package form gives each kind of text one normal form, so that decoder and rules compare the same text (decisions, section
// 2, "Matching"): a rule cannot be passed by writing a value another way. Its subpackages read one kind of text each:
// addresses, call data, commands, e-mail addresses, paths, web addresses, and the names of resources.
//
// The forms [Token] and [Amount] are completed where a program's tokens are known; this package has what the text alone says.
package form
