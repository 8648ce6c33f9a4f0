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
	Last   bool        `json:"last"`

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
