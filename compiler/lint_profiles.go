package compiler

// lintProfiles warns of what the resource profiles say and nobody means.
func (c *checker) lintProfiles() {}
