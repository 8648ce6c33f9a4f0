package mutants

const (
	fileDivide  = "runtime/ledger/commit/divide.go"
	fileDivided = "runtime/ledger/slots/divided.go"
	fileJoining = "runtime/ledger/joining/joining.go"
	fileLog     = "runtime/ledger/postgres/log.go"
	filePassing = "httpd/passing.go"
	fileSchema  = "runtime/ledger/postgres/schema.go"
	fileSession = "runtime/ledger/postgres/session.go"
)

// Owners are the mutants of a log that instances take from each other. A thousand simulated worlds have to find each.
var Owners = []Mutant{
	{"an append without an answer is taken for kept", fileLog, "return l.db.add(l.slot, l.term, l.at, g)\n", "return true, nil\n"},
	{"an owner that was replaced confirms", fileLog, "\tcase !mine:\n", "\tcase !mine && false:\n"},
	{"a refusal of the fence is taken for an append", fileLog, "if err != nil || !kept {", "if err != nil || !kept && false {"},
}

// Replaced are the mutants of an owner that was replaced, which the worlds seldom come to. The tests of that have to find each.
var Replaced = []Mutant{
	{"an owner that was replaced while it looked takes the database for one that went back", fileLog,
		"\tif err := l.move(); err != nil {\n\t\treturn false, err\n\t}\n\treturn false, fmt", "\treturn false, fmt"},
}

// Alone are the mutants of a database that has no synchronous standby any more, or was replaced. The tests of that have to find each.
var Alone = []Mutant{
	{"an append is kept on one disk", fileSchema, "AND ($10::boolean OR ` + keepsTwice + `) FOR", "AND ($10::boolean OR true) FOR"},
	{"appends of several slots are kept on one disk", fileSchema, "WHERE $10::boolean OR ` + keepsTwice + ` ORDER", "WHERE $10::boolean OR true ORDER"},
	{"an answer is confirmed by one disk", "runtime/ledger/postgres/postgres.go", "p.asking.kept(", "p.asking.do("},
	{"a commit that was let go is taken for kept", fileSession, "err != nil || !s.find.require {", "err != nil || true {"},
	{"a group that is found is taken for kept", fileLog, "return l.db.confirm(l.slot, l.me) // which", "return true, nil // which"},
	{"a store requires no standby", "runtime/ledger/postgres/open.go", "find.require, find.lease, find.persists = !o.Trust,", "find.require, find.lease, find.persists = false,"},
	{"a connection to a primary that was replaced is used", fileSession, "s.conn.timeline < s.find.highest.Load()", "false"},
}

// Divided are the mutants of dividing a record over slots, and of taking back what may have been used after a database was put back. The tests of
// that have to find each.
var Divided = []Mutant{
	{"each slot gets all keys", fileDivide, "return ledger.SlotOf(key.Hash, len(d.To)) == slot }", "return true }"},
	{"a slot begins in the stream of the first one", fileDivide, "\tp.head.Stream = slotStream(p.head.Stream, slot)\n", ""},
	{"keys are in no slot", fileDivide, "d.Enter(&key, ledger.SlotOf(key.Hash, len(d.To)))", ""},
	{"the first slot keeps its keys", "runtime/ledger/state/divide.go", "{ return false }, s.followed)", "{ return true }, s.followed)"},
	{"a key's first events are not proved", fileDivided, "\tif lsn <= d.at {\n\t\treturn d.before", "\tif lsn <= 0 {\n\t\treturn d.before"},
	{"an instance that starts during an import is not noticed", "runtime/ledger/postgres/moving.go", "if err := s.heard(f); err != nil { // one", "if err := s.heard(f); err != nil && false { // one"},
	{"two imports fill one store", "runtime/ledger/postgres/moving.go", "return p.last.last != 0 }", "return false }"},
	{"two exports serve one record", "runtime/ledger/postgres/moving.go", "if _, err := s.readable(); err != nil { // it may", "if _, err := s.readable(); err != nil && false { // it may"},
	{"an instance that was killed is taken for one that runs", "runtime/ledger/postgres/moving.go", "max(seen)", "min(seen)"},
	{"a transaction that was rolled back is taken for kept", "runtime/ledger/postgres/moving.go", "ends = ends || p.last.last != p.began", "ends = true"},
	{"the freeze of a restoration is followed by nobody", "runtime/ledger/commit/restore.go", "Kind: ledger.ServiceFrozen, Now", "Kind: ledger.ServiceThawed, Now"},
}

// Joined are the mutants of the order in which the logs of slots become one. The tests of that have to find each.
var Joined = []Mutant{
	{"a freeze does not wait for the slots", fileJoining, "case s.record.Kind == ledger.ServiceRestored, s.record.Follows():", "case false:"},
	{"a freeze is there for each slot", fileJoining, "return r.Origin != 0 && r.Origin <= j.copied", "return false"},
	{"a restoration is there for each slot", fileJoining, "if s.restored < j.restored {", "if false {"},
	{"slots come one after the other", "runtime/ledger/joining/source.go", "if s.record.Now != other.record.Now {", "if false {"},
	{"a default policy that came back is left out", fileJoining, "\t\tj.bound = nil\n", ""},
	{"another delivery is settled", fileJoining, "[]*uint64{&r.Settled.LSN, &r.Forgets}", "[]*uint64{&r.Forgets}"},
	{"a log that ends early is joined", fileJoining, "case !more && s.chain.Head != j.joined.Ends[s.slot]:", "case false:"},
	{"the copy is not read", fileJoining, "if err := j.filling.Verify(); err != nil {", "if false {\n\t\tvar err error"},
	{"the policy with the highest serial is replaced", fileJoining, "errors.Join(j.bindLatest(), j.setClock(), j.filling.Flush())", "errors.Join(j.setClock(), j.filling.Flush())"},
	{"a time that was set back is that of all keys", fileJoining, "r.Slots, r.Slot, j.set = len(j.From)-1, s.slot, true", "j.set = true"},
	{"what all keys have in common stays where a clock was set back", fileJoining, "j.setClock(), ", ""},
	{"what all keys have in common goes back further than a slot", fileJoining, "cmp.Compare(a.latest, b.latest)", "cmp.Compare(b.latest, a.latest)"},
	{"retention waits for the joining", fileJoining, "if n == 0 || s.record.Now < r.Now {", "if n < 0 {"},
	{"a collector misses an event", fileJoining, "return number - 1", "return number"},
	{"what the log comes to is not compared", fileJoining, "if differs != nil {", "if false {"},
	{"keys are not counted", fileJoining, "if keys != j.joined.Keys {", "if false {"},
}

// Renumbered are the mutants of what records name there that the conformance suite over a log that was made so has to find.
var Renumbered = []Mutant{
	{"other groups make room", fileJoining, "[]*uint64{&r.Settled.LSN, &r.Forgets}", "[]*uint64{&r.Settled.LSN}"},
}

// Passing are the mutants of passing requests on, and of signing for the instance that decides. The tests of that have to find each.
var Passing = []Mutant{
	{"claims are left to an instance with other keys", "httpd/call.go", "== s.config.Authority.Signer.Pair()", `!= ""`},
	{"a client gets claims in place of an attestation", "httpd/call.go",
		"\t\tc.unsigned = string(c.Request.Header.Peek(peers.Signs)) == s.config.Authority.Signer.Pair()\n\t}", "\t}\n\tc.unsigned = string(c.Request.Header.Peek(peers.Signs)) == s.config.Authority.Signer.Pair()"},
	{"a client says who it is", "httpd/call.go", "\tif s.config.Passed {\n\t\tif fault", "\tif s.config.Passed || len(c.Request.Header.Peek(peers.From)) > 0 {\n\t\tif fault"},
	{"clients see the claims of an attestation", filePassing, "peers.Claims: true,", ""},
	{"any answer gets an attestation", filePassing, "rest, ok := bytes.CutPrefix(body, unattested)", "rest, ok := bytes.TrimPrefix(body, unattested), true"},
	{"the library may send a body again", filePassing, "request.Body = peers.Body{Reader: bytes.NewReader(c.input)}", "request.Body = http.NoBody"},
	{"any Host is passed on", filePassing, "return !('a' <= r && r <= 'z'", "return false && !('a' <= r && r <= 'z'"},
	{"a source may have all connections", "httpd/peers/peers.go", "max(1, p.Connections/Share)", "max(1, p.Connections)"},
}
