package compiler

// Profiles are the resource profiles that a policy declares. A nil one is absent.
type Profiles struct{}

// declared reports whether the policy has any profile.
func (p *Profiles) declared() bool { return false }
