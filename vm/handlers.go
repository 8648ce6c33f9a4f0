package vm

// handlers are how the operations run: each does its step and returns the next one, or nil where the run ends. Every step
// goes on at a later one, which the verifier has seen to, so that a run ends.
var handlers = [...]func(*Machine, *step) *step{
	OpIn: (*Machine).in, OpStarts: (*Machine).starts, OpEnds: (*Machine).ends, OpContains: (*Machine).contains, OpHost: (*Machine).host,
	OpPath: (*Machine).path, OpGlob: (*Machine).glob, OpMatch: (*Machine).match,
	OpKind: (*Machine).kind, OpSwitch: (*Machine).branch, OpJump: (*Machine).jump,
	OpScan: (*Machine).scan, OpHit: (*Machine).hit, OpAmount: (*Machine).load, OpGreater: (*Machine).greater, OpAtLeast: (*Machine).atLeast,
	OpClass: (*Machine).class, OpHold: (*Machine).hold, OpNote: (*Machine).note, OpReserve: (*Machine).reserve,
	OpDeny: (*Machine).deny, OpReject: (*Machine).reject, OpEnd: (*Machine).end,
}
