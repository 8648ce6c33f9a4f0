package compiler

// Parts are the typed sections of a policy, in the order of its text: of each that is there, a pointer to its type.
type Parts []any

// part returns the section whose typed form is an S, nil where the policy lacks it.
func part[S any](parts Parts) *S {
	for _, one := range parts {
		if section, ok := one.(*S); ok {
			return section
		}
	}
	return nil
}
