// Package hook has the command that is between a coding agent and its tools, and the commands that install, examine and
// remove it.
package hook
