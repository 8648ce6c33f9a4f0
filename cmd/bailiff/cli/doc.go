// Package cli has what the commands share: the streams that they talk to, exit codes, how an error becomes one, how texts are
// printed, and how files are read and replaced.
package cli
