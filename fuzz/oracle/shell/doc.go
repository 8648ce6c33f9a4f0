// Package shell reads the commands of `bash` for the oracle: which texts are sought in them, and which simple commands they run. It
// shares nothing with the product's reading but the parser of the shell's syntax.
package shell
