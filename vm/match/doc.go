// Package match makes matching fast: what package vm builds from its constants when a program is loaded, and what no byte of a
// program depends on. Everything here answers a question that a slower and simpler way answers too, which tests compare.
//
// A [DFA] answers for a regular expression, with one table look-up for each rune of the text. [NewDFA] determines the
// instructions of package regexp/syntax: it first divides the runes into classes that no instruction tells apart, and then makes
// a state for each set of instructions that a text can lead to. Borders of words and ends of lines are known one rune late, so a
// state keeps the instructions that wait for it. Expressions that need many states or classes get no DFA; package regexp then
// matches them, and the bound on a program's cost is higher.
package match
