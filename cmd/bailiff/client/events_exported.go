package client

import (
	"encoding/json"
	"fmt"

	"bailiff/cmd/bailiff/cli"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/runtime/approvals"
	"bailiff/runtime/attest"
	"bailiff/runtime/eventjson"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/state"
	"bailiff/runtime/retention"
)

type eventsReadCommand struct {
	Files []string `arg:"" help:"The exported files." type:"path"`
	JSON  bool     `name:"json" xor:"form" help:"Print one JSON object a line, in the form of the API."`
	CSV   bool     `name:"csv" xor:"form" help:"Print comma-separated values (RFC 4180) with a line of names first."`
}

// Help says what the files are.
func (c *eventsReadCommand) Help() string {
	return `Prints the events in files that the service has exported to SVC_EVENT_EXPORT before it dropped them. bailiff events verify FILE
verifies who has signed them.`
}

// Run prints the events.
func (c *eventsReadCommand) Run(std cli.Streams) error {
	print := printer(std.Out, c.JSON, c.CSV)
	for _, path := range c.Files {
		if _, err := retention.Read(path, func(lsn uint64, r *state.Record) error {
			e := r.View(lsn)
			if e.Kind == 0 {
				return nil
			}
			raw, err := json.Marshal(eventjson.View(&e))
			if err != nil {
				return err
			}
			return print(raw)
		}, func(ledger.Head) {}); err != nil {
			return cli.Fail("%s: %v", path, cli.Unreadable(err))
		}
	}
	return nil
}

// verifyFiles verifies exported files by themselves.
func (c *eventsVerifyCommand) verifyFiles(std cli.Streams, s *cmdsettings.Settings) error {
	verifier, err := c.fileVerifier(s)
	if err != nil {
		return err
	}
	told := c.Start(std, "verifying exported files")
	for _, path := range c.Files {
		f, err := retention.Read(path, anyRecord, func(end ledger.Head) { told.Reached("%s, record %d", path, end.LSN) })
		if err == nil {
			err = f.Verify(verifier)
		}
		if err != nil {
			return cli.Fail("%s is NOT what was exported: %v", path, cli.Unreadable(err))
		}
		fmt.Fprintf(std.Out, "verified: %s has records %d to %d, stream %x, head %x\n", path, f.From.LSN+1, f.To.LSN, f.To.Stream, f.To.Hash)
	}
	return nil
}

// fileVerifier returns what exported files are verified by: nil with --no-checkpoint.
func (c *eventsVerifyCommand) fileVerifier(s *cmdsettings.Settings) (*attest.CheckpointVerifier, error) {
	if c.NoCheckpoint {
		return nil, nil
	}
	return c.Verifier(s)
}

func anyRecord(uint64, *state.Record) error { return nil }

// readExported verifies where a record begins, and the exported files that lead there, and notes in the chain whether a group of theirs
// ends with a record.
func (c *eventsVerifyCommand) readExported(s *cmdsettings.Settings, verifier *attest.CheckpointVerifier, chain *commit.Verified, at uint64) ([]retention.File, error) {
	begins := chain.Begins
	if begins.After.LSN == 0 {
		return nil, nil
	}
	if verifier != nil {
		if _, err := retention.VerifyBeginning(begins, verifier); err != nil {
			return nil, cli.Fail("the record does NOT begin as it was signed: %v", err)
		}
	}
	folder := c.Exported
	if folder == "" {
		folder = s.EventExport
	}
	return LeadTo(chain, folder, verifier, at)
}

// LeadTo returns the files of a folder that retention has exported and that lead to where a record begins, and notes in the chain their streams, and
// whether a group of theirs ends with a record.
func LeadTo(chain *commit.Verified, folder string, verifier *attest.CheckpointVerifier, at uint64) ([]retention.File, error) {
	ends := map[string]ledger.Head{} // the group that ends with the record, by file
	lead, err := ExportedTo(folder, chain.Begins.After, verifier, func(path string, end ledger.Head) {
		if end.LSN == at {
			ends[path] = end
		}
	})
	if err != nil {
		return nil, err
	}
	for n, f := range lead {
		if n == 0 && f.From.LSN == at && at > 0 {
			chain.At, chain.Ends, chain.Streams = f.From.Hash, true, append(chain.Streams, f.From.Stream)
		}
		chain.Streams = append(chain.Streams, f.To.Stream)
		if end, ok := ends[f.Path]; ok {
			chain.At, chain.Ends = end.Hash, true
		}
	}
	return lead, nil
}

// ExportedTo verifies the files of a folder that retention has exported, and returns those that lead to the place where a log begins. It calls ends
// with the end of each group; a nil verifier does not ask who has signed them.
func ExportedTo(folder string, begins ledger.Head, verifier *attest.CheckpointVerifier, ends func(path string, end ledger.Head)) ([]retention.File, error) {
	paths, err := retention.Folder(folder)
	if err != nil {
		return nil, cli.Fail("the exported files can't be read: %v", err)
	}
	var files []retention.File
	for _, path := range paths {
		f, err := retention.Read(path, anyRecord, func(end ledger.Head) { ends(path, end) })
		if err == nil {
			err = f.Verify(verifier)
		}
		if err != nil {
			return nil, cli.Fail("%s is NOT what was exported: %v; the record itself is whole from %d on", path, cli.Unreadable(err), begins.LSN+1)
		}
		files = append(files, f)
	}
	return retention.Lead(files, begins), nil
}

// tellBeginning says where the record begins, and what of the rest was verified.
func tellBeginning(std cli.Streams, begins ledger.Beginning, lead []retention.File, divided uint64) {
	switch first := begins.After.LSN; {
	case first == 0:
	case len(lead) > 0 && lead[0].From.LSN == divided && divided > 0:
		fmt.Fprintf(std.Out, "records %d to %d were dropped by retention; the exported files have all of them, and verify (files: %d)\n", divided+1, first, len(lead))
	case len(lead) == 0:
		fmt.Fprintf(std.Out, "records 1 to %d were dropped by retention; no exported file was at hand that leads there\n", first)
	case lead[0].From.LSN != 0:
		fmt.Fprintf(std.Out, "records 1 to %d were dropped by retention; exported files have those from %d on, and verify\n", first, lead[0].From.LSN+1)
	default:
		fmt.Fprintf(std.Out, "records 1 to %d were dropped by retention; the exported files have all of them, and verify (files: %d)\n", first, len(lead))
	}
}

// checkRecords verifies the approvals in the exported files, or where they lack records those that the record begins with, and in the
// record.
func checkRecords(s part, checker *approvals.Checker, lead []retention.File) error {
	after, first := uint64(0), uint64(0)
	if len(lead) > 0 && lead[0].From.LSN == 0 {
		for _, f := range lead {
			if _, err := retention.Read(f.Path, func(lsn uint64, r *state.Record) error {
				event := r.View(lsn)
				return checker.Next(&event)
			}, func(ledger.Head) {}); err != nil {
				return err
			}
			after = f.To.LSN
		}
	}
	var record state.Record
	var begins *state.State
	var problem error
	begin := func(base uint64, from *state.State) {
		if first = base; after == 0 {
			devices, _ := from.Approvers()
			begins, problem = from, checker.Begin(devices, from.Operators())
		}
	}
	next := func(lsn uint64, text string) error {
		if problem != nil || lsn <= after {
			return problem
		}
		if err := record.Decode(text); err != nil {
			return err
		}
		event := record.View(lsn)
		if begins != nil && lsn <= first && !begins.PendingHold(event.Key, event.Hold) {
			return nil // it is kept for something else
		}
		return checker.Next(&event)
	}
	return readRecord(s, func(log commit.Log) error { return commit.Records(log, begin, next) })
}
