package mutants

const (
	fileCommit   = "runtime/ledger/commit/ledger.go"
	fileOutbox   = "runtime/ledger/commit/outbox.go"
	fileDispatch = "runtime/webhook/dispatcher.go"
)

// Simulated are the mutants that lose a record, answer too early or do something twice. The simulator has to find each within a thousand worlds.
var Simulated = []Mutant{
	{"a group is acknowledged before it is written", fileCommit, "took, err := l.appendGroup(g.first, l.sealed)\n",
		"g.commitment.Settle(nil)\n\tg.commitment = ledger.NewCommitment()\n\ttook, err := l.appendGroup(g.first, l.sealed)\n"},
	{"a group is not written", fileCommit, "return 0, l.log.Append(first, sealed)", "return 0, nil"},
	{"a failed write is taken for a good one", fileCommit, "\tif err != nil {\n\t\tl.Fail(fmt.Errorf(\"writing group", "\tif false {\n\t\tl.Fail(fmt.Errorf(\"writing group"},
	{"a decision is answered before its record is durable", "runtime/decision/decide.go", "err := ticket.Wait(ctx)\n\ta.lap", "err := error(nil)\n\ta.lap"},
	{"the epoch of a key is forgotten", "runtime/ledger/state/decide.go", "p.Epoch != k.key.Epoch || s.replacedDefault(p.Default)", "s.replacedDefault(p.Default)"},
	{"a frozen service decides", "runtime/ledger/state/decide.go", "if s.stops(k) {", "if k.key.Halt.Stopped() {"},
	{"a webhook is told of what may be lost", fileCommit, "g.tell(lsn, &l.record)\n", "g.tell(lsn, &l.record)\n\t\tl.outbox.add(g.outbox[len(g.outbox)-1])\n\t\tg.outbox = nil\n"},
	{"a delivery that was refused counts as taken", fileDispatch, "case o.ok():", "case o.err == nil:"},
	{"results that come while the ledger is away are lost", fileOutbox, "o.kept[h] = *q\n", "_ = q\n"},
	{"a damaged snapshot is used", "runtime/ledger/commit/snapshot.go", "end < snapshotHeader || sha256.Sum256(b[:end]) != [sha256.Size]byte(b[end:])", "end < snapshotHeader"},
	{"a write is sent although its attestation was used", "runtime/gateway/submit.go", "err = g.Ledger.UseOnce(ctx, g.use(r, claims, s, key))\n",
		"if err = g.Ledger.UseOnce(ctx, g.use(r, claims, s, key)); errors.Is(err, ledger.ErrUsed) {\n\t\t\terr = nil\n\t\t}\n"},
	{"the ledger continues from memory after a failure", "runtime/ledger/commit/open.go", "l.past, l.next = *p, p.head.LSN+1",
		"if l.state != nil {\n\t\tp.state = l.state\n\t}\n\tl.past, l.next = *p, p.head.LSN+1"},
}
