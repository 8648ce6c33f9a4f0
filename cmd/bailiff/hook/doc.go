// Package hook has the command that stands between a coding agent and its tools, and the commands that install, examine and
// remove it.
package hook
