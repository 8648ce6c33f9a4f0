// Package sections has the sections of a policy, except for the resource profiles, which are in package profiles. Each section
// has a file, a large one several: the rows of its keys, its typed form, the readers of its values, and the emitter of its rules.
package sections
