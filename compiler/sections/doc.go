// Package sections has the sections of a policy that grant, deny, limit and hold, a file each, or several for one that is
// large: the rows of its keys, its typed form, what reads its values, and what emits its rules. The resource profiles have
// a package of their own.
package sections
