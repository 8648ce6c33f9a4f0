package compiler

import "bailiff/vm"

// boundary denies intents that a resource profile governs and no trusted shim vouches for.
func (e *emitter) boundary() {}

// profiles judges governed intents by the rules of their profiles.
func (e *emitter) profiles() {}

// profileGrants jumps where a profile grants the tool.
func (e *emitter) profileGrants(vm.Label) {}

// profileApprovals holds governed intents on whose operations a person has to decide.
func (e *emitter) profileApprovals() {}

// profileLimits plans the counters of the profiles' impact limits.
func (e *emitter) profileLimits() {}
