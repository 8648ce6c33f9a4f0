// Package cost counts how many places of the project a change touches. It has one example of each kind of change that the project
// often sees, as the lines that it adds, and checks it against the bounds of CONTRIBUTING.md. `make cost` makes each change in a
// copy of the project and runs the tests there, which finds a place that a change needs and this package does not name.
package cost
