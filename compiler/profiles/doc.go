// Package profiles has the resource profiles, which are sections about repositories, files, git and databases: their rows,
// their typed forms, the readers of their values, and the emitters of rules. These rules judge what a trusted shim reports.
//
// Each profile has a file. profiles.go puts them together: which actions they govern and grant, and the steps of the
// program that judge by them. profile.go has what several profiles need: lists of roots and names, slots, and pieces of rules.
package profiles
