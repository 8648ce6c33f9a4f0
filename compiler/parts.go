package compiler

// Parts are the typed sections of a policy, in the order of its text: of each that is there, a pointer to its type.
type Parts []any

// put puts a value into a map, which is made with its first one.
func put[K comparable, V any](all *map[K]V, key K, value V) {
	if *all == nil {
		*all = map[K]V{}
	}
	(*all)[key] = value
}

// part returns the section whose typed form is an S, nil where the policy lacks it.
func part[S any](parts Parts) *S {
	for _, one := range parts {
		if section, ok := one.(*S); ok {
			return section
		}
	}
	return nil
}
