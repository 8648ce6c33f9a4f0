// Package hook has the command that a coding agent runs before each call of a tool, and the commands that install, examine and
// remove it. Package runtime/hook translates events and answers; runtime/hook/setup edits the agents' settings files.
package hook
