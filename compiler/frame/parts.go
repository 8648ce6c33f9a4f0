package frame

// Parts are the typed sections of a policy, in the order of its text: of each that is there, a pointer to its type.
type Parts []any

// Put puts a value into a map, which is made with its first one.
func Put[K comparable, V any](all *map[K]V, key K, value V) {
	if *all == nil {
		*all = map[K]V{}
	}
	(*all)[key] = value
}

// Part returns the section whose typed form is an S, nil where the policy lacks it.
func Part[S any](parts Parts) *S {
	for _, one := range parts {
		if section, ok := one.(*S); ok {
			return section
		}
	}
	return nil
}
