package commit

// A Log keeps groups. It is the seam between the ledger and a disk: four methods, and nothing of what groups mean.
// Append and Truncate are called by one goroutine at a time; Read may be called by others meanwhile.
type Log interface {
	// Append keeps a group under its first LSN, which is larger than that of every group before. It returns nil only
	// when the group is durable. After an error the group may be there or not, and nothing is appended any more. The
	// group's memory is the caller's again when Append returns.
	Append(first uint64, group []byte) error

	// Read calls yield with the group that holds the LSN from, or the first one after it, and with all that follow,
	// in the order of their first LSNs, until yield returns false. It may or may not see a group whose Append has
	// not returned. The group's memory is valid during the call only.
	Read(from uint64, yield func(first uint64, group []byte) bool) error

	// Truncate durably removes the groups whose first LSN is from or larger.
	Truncate(from uint64) error

	// Head returns the first LSN of the last group, 0 where there is none.
	Head() (uint64, error)
}

// A Leveled is a Log that older releases may have to read, too.
type Leveled interface {
	// Level returns the highest number of a form that records may have.
	Level() int
}

// A Confirmer is a Log that another process may take over, so that its state may be an old one. An answer to a client without a
// group that was kept meanwhile is to be confirmed before it is told.
type Confirmer interface {
	// Mark returns a mark for Confirm. A caller takes one before it looks at the state.
	Mark() uint64
	// Confirm returns nil when something that began after a mark has proved that the log is still this process's: a group that was
	// kept, or a question. An error wraps ledger.ErrUnavailable; the answer must not be told then.
	Confirm(mark uint64) error
}
