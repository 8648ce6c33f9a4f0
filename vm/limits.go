package vm

import (
	"errors"
	"math"
)

// What a program may hold. Each limit is far above what a policy of 256 KiB can ask for or, where it is not,
// says why in the error that names it.
const (
	MaxInstructions = math.MaxUint16 // targets and counters of instructions are 16 bits wide
	maxFields       = 4096
	maxRules        = 1 << 15
	maxConstants    = 1 << 15
	maxTables       = 4096
	MaxCounters     = 1024 // as many as a ledger moves in one step
	maxTokens       = 4096
	maxEntries      = 1 << 15 // of one set or table
	maxText         = 1 << 14 // bytes of any one text
	MaxPattern      = 256     // bytes of a regular expression (specification, policy-text.8)
	MaxPatternSteps = 1000    // instructions of a compiled regular expression: 4 KiB of subject take some 50 ms at most
	MaxSubject      = 4096    // bytes that a regular expression looks at
	MaxBytes        = 1 << 21 // of the encoding
	MaxFixed        = 1 << 22 // of Cost.Fixed
	MaxPerByte      = 1 << 16 // of Cost.PerByte
)

// A Limit bounds the making of a program, beside what the machine takes at all. The zero Limit does not.
type Limit struct {
	Memory int         // the most that the program may keep live, in bytes; 0 for no bound
	Stop   func() bool // asked now and then, whether to give up; nil for never
}

// stopped reports whether to give up.
func (l *Limit) stopped() bool { return l.Stop != nil && l.Stop() }

// ErrStopped is the error of a program whose making was given up, because its [Limit] said so.
var ErrStopped = errors.New("the making of the program was stopped")
