// Package cost counts how many places of the project a change takes. It knows one change of each kind that the project often sees,
// as the lines that it adds, and holds them to the bounds of CONTRIBUTING.md: make cost makes each change in a copy of the
// project and runs the tests there, so that what a change needs and this package does not name is found.
package cost
