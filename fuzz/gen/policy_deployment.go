package gen

import "fmt"

// addDeployment adds whom the policy is for and its number. Neither changes what it decides.
func (b *builder) addDeployment() {
	s := b.section("deployment")
	switch ids := b.keyIDs(); {
	case b.r.Chance(30):
		s.list("keys", []string{"*"})
	default:
		s.list("keys", ids)
	}
	b.maybeCount(s, "serial")
}

// keyIDs are the ids of some API keys, in either case.
func (b *builder) keyIDs() (ids []string) {
	for i := range 1 + b.r.N(3) {
		form := b.r.Pick("%08x-0000-4000-8000-%012x", "%08X-0000-4000-8000-%012X")
		ids = append(ids, fmt.Sprintf(form, 0xa0+i, b.r.N(1<<40)))
	}
	return ids
}
