// Package profiles has the resource profiles, which are sections about repositories, files, git and databases: their rows,
// their typed forms, what reads their values, and what emits the rules that judge what a trusted shim reports.
package profiles
