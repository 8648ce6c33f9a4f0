// Package shell reads shell commands for the oracle: the texts in which a blocked command is sought, and the simple commands that
// run. It shares nothing with package vm/form/command, the product's reader, but the parser of the shell's syntax.
package shell
