package mutants

const (
	fileRoom   = "runtime/ledger/state/room.go"
	filePast   = "runtime/ledger/state/past.go"
	fileReplay = "runtime/ledger/state/replay.go"

	fileRestore = "runtime/ledger/state/restore.go"
	fileVisits  = "runtime/approvals/visits.go"
)

// Restored are the mutants of what a restoration takes back. The tests of restorations have to find each.
var Restored = []Mutant{
	{"attestations from before a restoration are good", fileRestore, "max(s.tokens.forgotten, r.Now+attestationLife)", "s.tokens.forgotten"},
	{"activations from before a restoration are good", fileRestore, "max(s.activations.forgotten, r.Now+activationLife)", "s.activations.forgotten"},
	{"answers from before a restoration are repeated", fileRestore, "s.replays = replayTable{}", "_ = replayTable{}"},
	{"holds outlive a restoration", fileRestore, "k.holds.end(r.Now)", "_ = k"},
	{"holds that a restoration ends do not expire", fileRestore, "s.endPending(r.Now)", "_ = s"},
	{"counters go on after a restoration", fileRestore, "k.counters.useUp()", "_ = k"},
	{"new groups are free in a window of before a restoration", fileRestore, "s.usedUp = r.Now", "_ = s"},
	{"a restored service is not frozen", fileRestore, "if !v.Thawed {", "if false {"},
}

// Approvers are the mutants of who may decide at the step of a decision. The conformance suite of ledgers has to find each.
var Approvers = []Mutant{
	{"a device that is suspended decides", "runtime/ledger/state/approver.go", "d.Suspended == 0 && now/1e9 < d.Expires", "now/1e9 < d.Expires"},
	{"one approver is two", "runtime/ledger/state/holds.go", "if !again {", "if true {"},
	{"one approval is enough where two are needed", "runtime/ledger/state/holds.go", "waits := len(names) < q.Needed", "waits := false"},
	{"half an approval of a suspended approver counts", "runtime/ledger/state/holds.go", "if d != nil && d.Serial == a.serial && !slices", "if (d == nil || d.Serial == a.serial) && !slices"},
	{"half an approval by an older statement counts", "runtime/ledger/state/holds.go", "if d != nil && d.Serial == a.serial && !slices", "if d != nil && !slices"},
	{"the note of the first of two is lost", "runtime/ledger/state/holds.go", "r.Note = s.earlierNote(h, now)", "_ = now"},
	{"who has approved can't where one is enough by now", "runtime/ledger/state/holds.go", "case waits && again:", "case again:"},
	{"a statement leaves serials out", "runtime/ledger/state/approver.go", "q.Serial != t.serial+1", "q.Serial <= t.serial"},
	{"a device decides by an older statement", "runtime/ledger/state/holds.go", "device == nil || device.Serial != a.Serial || ", "device == nil || "},
}

// Approvals are the mutants of decisions by passkey. The tests of approvals have to find each.
var Approvals = []Mutant{
	{"a statement about approvers counts twice", "runtime/ledger/state/approver.go", "q.Serial != t.serial+1", "q.Serial < t.serial"},
	{"amounts above the bound are decided", "runtime/ledger/approver.go", "of.Amount.Cmp(g.Amounts[at].Amount) > 0", "false"},
	{"the challenge lacks the policy", "runtime/ledger/approver.go", "hex.EncodeToString(hold.PolicyHash[:]),\n", "\"\",\n"},
	{"a statement does not say for which environment it is", "runtime/ledger/approver.go", "\"svc-approver-v1\", environment, issuer", "\"svc-approver-v1\", \"\", issuer"},
	{"a page is good twice", fileVisits, "one.shown = slices.Delete(one.shown, at, at+1)", "_ = at"},
	{"a page is good for ever", fileVisits, "if !now.Before(page.expires) {", "if false {"},
	{"a sign-in is good twice", fileVisits, "if _, twice := v.used[challenge]; twice {", "if false {"},
	{"a sign-in is good for ever", fileVisits, "now.UnixNano()-issued >= int64(challengeLife)", "false"},
	{"a visit does not end", fileVisits, "if one == nil || !a.Clock().Before(one.expires) {", "if one == nil {"},
	{"a passkey that was not enrolled is confirmed", "runtime/approvals/approvals.go", "if err := a.checkConfirmation(ctx, s); err != nil {", "if false {"},
	{"statements of any age count", "runtime/approvals/approvals.go", "s.SignedAt < now-statementTolerance", "false"},
	{"any operator speaks for any key", "runtime/approvals/approvals.go", "open || pinned != s.Operator", "open && pinned != s.Operator"},
	{"what a device may not decide is decided by a form", "runtime/approvals/decide.go", "if why := refused.of(decision); why != \"\" {", "if why := refused.of(decision); false {\n\t\t_ = why"},
	{"what call data move is not held against bounds", "runtime/holds/asked.go", "sum.called()", "_ = sum"},
	{"another operator takes a device over", "runtime/approvals/approvals.go", "s.Concerns(&d) && operators.Current(d.Operator) != s.Operator", "s.Concerns(&d) && operators.Current(d.Operator) != s.Operator && false"},
	{"a verified record may be of another section", "runtime/approvals/verify.go", "reason != \"\" {", "reason != \"\" && false {"},
	{"the record verifies without the statements", "runtime/approvals/verify.go", "case at < 0 || ", "case "},
}

// Own are faults that the tests of their own package have to find, beside the suites of others.
var Own = []Mutant{
	{"the service's lines are cut off", "runtime/decision/hold_summary.go", "size(lines)+len(line)+1 > room", "size(lines)+len(line)+1 > room && false"},
	{"a segment of a token may have line ends", "runtime/attest/base64.go", "err != nil || segment.EncodedLen(len(raw)) != len(text)", "err != nil"},
}

// Ledger are the mutants of which groups make room, of what deployments keep, of default policies and of replays. Comparing the ledger with its naive model has to find each.
var Ledger = []Mutant{
	{"groups make room after an hour", fileRoom, "int64(ledger.TaskIdle) - day", "int64(ledger.TaskIdle) - hour"},
	{"groups that are used up make room", "runtime/ledger/state/decide.go", "e.usedUp = e.usedUp || used", "_ = used"},
	{"groups that nobody knows a limit of make room", "runtime/ledger/state/decide.go",
		"CounterEffect{Counter: counter, Value: value, id: id})\n\t\t}", "CounterEffect{Counter: counter, Value: value, id: id, Room: true})\n\t\t}"},
	{"the group that was idle for the shortest time makes room", fileRoom, "cmp.Compare(a.order, b.order)", "cmp.Compare(b.order, a.order)"},
	{"nothing makes room", fileRoom, "r.Forgets = g.order", "_ = g"},
	{"programs are not counted among what deployments keep", "runtime/ledger/state/deploy.go", " + uint64(len(e.Program))", ""},
	{"a deployment may go beyond what is kept by itself", "runtime/ledger/state/deploy.go",
		"d.MaxStored != 0 && done.Stored > d.MaxStored", "d.MaxStored != 0 && k.stored > d.MaxStored"},
	{"a default policy's serial binds nobody", filePast, "p.add(d.PolicyHash, wanted, d.Named, d.Serial)\n\t\t}\n\t}\n\tfor", "p.add(d.PolicyHash, wanted, d.Named, 0)\n\t\t}\n\t}\n\tfor"},
	{"default policies may go back", filePast, "case p.serial != 0 && d.Serial <= p.serial:\n\t\treturn bound", "case false:\n\t\treturn bound"},
	{"a decision is given again under another default policy", fileReplay, " || len(k.deployments) == 0 && known.lsn < s.latestDefault()", ""},
	{"a frozen service decides", "runtime/ledger/state/decide.go", "if s.stops(k) {", "if k.key.Halt.Stopped() {"},
	{"a suspended key decides", "runtime/ledger/state/decide.go", "if s.stops(k) {", "if s.halt.Stopped() {"},
	{"an attestation from before a halt is good after it", "runtime/ledger/state/once.go", "case s.stops(k), s.voids(k, u.Issued):", "case s.stops(k):"},
	{"an answer from before a freeze is given again after it", fileReplay, "case s.voids(k, known.expires-int64(ledger.ReplayLife)):", "case false:"},
	{"an earlier operator key deploys", "runtime/ledger/state/deploy.go", "case s.operators.Replaced(d.Operator) || ", "case "},
	{"a key stays pinned to the operator's earlier key", "runtime/ledger/state/deploy.go", "s.operators.Current(k.key.Operator) != d.Operator", "k.key.Operator != d.Operator"},
	{"a rotation from a key that is not the operator's", "runtime/ledger/state/operator.go", "o.Keys[len(o.Keys)-1] != q.From:", "false:"},
	{"a rotation counts twice", "runtime/ledger/state/operator.go", "q.Signed.Serial <= o.Serial", "q.Signed.Serial < o.Serial"},
	{"a statement counts twice", "runtime/ledger/state/halt.go", "h.Signed.Serial <= now.Serial", "h.Signed.Serial < now.Serial"},
	{"holds are resolved while frozen", "runtime/ledger/state/holds.go", "case s.stops(k):", "case false:"},
	{"policies are deployed while frozen", "runtime/ledger/state/deploy.go", "case s.stops(k):", "case false:"},
	{"a decision is given again after a deployment", fileReplay, "known.epoch != k.key.Epoch || ", ""},
	{"a decision is given again after its attestation has expired", fileReplay, "p.At >= known.expires || ", ""},
}
