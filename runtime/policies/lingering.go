package policies

const (
	// MaxLingering is how many bytes the programs take in all that are not loaded any more, being replaced or driven out, and
	// that requests still use. Beyond it no program of countedProgram or more is loaded or deployed: keys that deploy one
	// program after the other, with a request waiting by each, filled a gigabyte in four seconds.
	MaxLingering = 64 << 20
	// countedProgram is from how many bytes on a program counts that lingers. Those of most keys are smaller: they pay
	// nothing for it, and are not refused because of others.
	countedProgram = 256 << 10
)

// A using is how many requests use a program, and whether it is not loaded any more. The lock of the policies guards it.
type using struct {
	Requests int
	dropped  bool
}

// lingers reports whether the program counts as one that is used and not loaded any more.
func (u *using) lingers() bool { return u.dropped && u.Requests > 0 }

// Counts reports whether a policy's program counts where it lingers.
func Counts(policy *Policy) bool { return policy.Memory() >= countedProgram }

// use notes that so many requests more use a policy or, negative, fewer.
func (p *programs) use(policy *Policy, requests int) {
	if !Counts(policy) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(policy, using{policy.Using.Requests + requests, policy.Using.dropped})
}

// dropped notes that a policy is not loaded any more. The caller has the lock.
func (p *programs) dropped(policy *Policy) {
	if Counts(policy) {
		p.note(policy, using{policy.Using.Requests, true})
	}
}

// superseded notes that a default policy is not in force any more.
func (p *programs) superseded(policy *Policy) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropped(policy)
}

// note changes how a policy is used. The caller has the lock.
func (p *programs) note(policy *Policy, now using) {
	before := policy.Using.lingers()
	policy.Using = now
	switch after := now.lingers(); {
	case after && !before:
		p.lingering += policy.Memory()
		p.lingers.Use(p.lingering, MaxLingering)
	case before && !after:
		p.lingering -= policy.Memory()
	}
}

// hasRoom reports whether a policy may be loaded, for the programs that linger.
func (p *programs) hasRoom(policy *Policy) bool {
	if !Counts(policy) || p.StillUsed() < MaxLingering {
		return true
	}
	p.lingers.Exceeded()
	return false
}

// maxKnown is how many policies are known to have a program that counts, so that one is not loaded for nothing.
const maxKnown = 4096

// know notes that the program of a hash counts. The caller has the lock.
func (p *programs) know(hash [32]byte) {
	if len(p.Known) >= maxKnown || p.Known == nil {
		p.Known = map[[32]byte]bool{}
	}
	p.Known[hash] = true
}

// mayLoad reports whether the policy of a hash is known to have a program that counts, and whether there is room for it then.
func (p *programs) mayLoad(hash [32]byte) (large, room bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	large = p.Known[hash]
	return large, !large || p.lingering < MaxLingering
}

// StillUsed returns how many bytes the programs take that are not loaded any more, and that requests still use.
func (p *programs) StillUsed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lingering
}
