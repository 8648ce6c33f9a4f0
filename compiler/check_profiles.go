package compiler

import "bailiff/grammar"

// openProfile puts the section of a resource profile into the policy.
func (c *checker) openProfile(*grammar.Section) {}

// readProfile reads one entry of a resource profile, and reports whether it knows the key.
func (c *checker) readProfile(*Key, *grammar.Entry) bool { return false }

// finishProfiles checks what concerns several entries of the resource profiles.
func (c *checker) finishProfiles() {}
