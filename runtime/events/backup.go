package events

import (
	"context"
	"time"

	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
)

// backupPageBytes is how many bytes of groups a page of a backup has, where the first group is not larger.
const backupPageBytes = 4 << 20

// A BackupPage is consecutive groups of the log as they were written. The last page leads to the log's end.
type BackupPage struct {
	Groups [][]byte    `json:"groups"` // base64
	End    ledger.Head `json:"-"`
	LSN    uint64      `json:"lsn"` // of the record that the groups end with
	// Begins is the LSN after which the log begins, of the first page of a log whose oldest groups were dropped. It has no groups.
	Begins uint64 `json:"begins,omitempty"`
	Last   bool   `json:"last"`

	// Of the last page: the checkpoint of its end, signed by the service that runs; empty where none does.
	Checkpoint string `json:"checkpoint,omitempty"`
}

// Backup returns a page of the log: the groups that follow the record after.
func (a *Reader) Backup(ctx context.Context, after uint64) (*BackupPage, error) {
	if after == 0 {
		if err := a.Ledger.Flush(ctx); err != nil { // deferred records belong to it, too
			return nil, err
		}
	}
	a.copied.Store(a.Clock().UnixNano())
	if begins := a.Ledger.Beginning().After; after == 0 && begins.LSN != 0 {
		return &BackupPage{End: begins, LSN: begins.LSN, Begins: begins.LSN}, nil
	}
	path, head, err := a.Ledger.Groups(ctx, after, backupPageBytes)
	if err != nil {
		return nil, err
	}
	if len(path.Groups) == 0 {
		path.End = head
	}
	page := &BackupPage{Groups: path.Groups, End: path.End, LSN: path.End.LSN, Last: path.End == head}
	if !page.Last || a.Signer == nil {
		return page, nil
	}
	signed, err := a.Signer.SignCheckpoint(attest.Checkpoint{Stream: head.Stream, LSN: head.LSN, Hash: head.Hash, At: a.Clock().Truncate(time.Second)})
	page.Checkpoint = string(signed)
	return page, err
}

// A BasePage is a part of what a log begins with whose oldest groups were dropped.
type BasePage struct {
	Beginning []byte `json:"beginning"` // what the log has in place of these groups
	Base      []byte `json:"base"`
	Size      int64  `json:"size"` // of the whole base
}

// BackupBase returns a part of the base, from a place on, of a log that begins after the record of an LSN.
func (a *Reader) BackupBase(_ context.Context, of uint64, at int64) (*BasePage, error) {
	a.copied.Store(a.Clock().UnixNano())
	part, beginning, size, err := a.Ledger.ReadBase(of, at, backupPageBytes)
	if err != nil {
		return nil, err
	}
	return &BasePage{beginning, part, size}, nil
}

// Copying reports whether a backup is most likely being taken: nothing should be dropped meanwhile.
func (a *Reader) Copying(now time.Time) bool {
	last := a.copied.Load()
	return last != 0 && now.Sub(time.Unix(0, last)) < copyPause
}

// copyPause is how long a backup that goes on pauses between two pages at most.
const copyPause = time.Minute
