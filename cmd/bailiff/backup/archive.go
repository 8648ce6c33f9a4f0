package backup

import (
	"context"
	"fmt"
	"io"
	"time"

	"bailiff/cmd/bailiff/client"
	"bailiff/runtime/ledger/groupfile"
)

// The files of a backup. The first is the line
//
//	"bailiff backup 1 " time        in RFC 3339
//
// and then the groups of the log as they were written (package groupfile). Where retention has dropped the oldest groups it is
// "bailiff backup 2 ", and what the log has in their place comes before the groups: its beginning and its base, each as a part. The
// checkpoint is of the end of the groups.
const (
	logFile        = "log"
	checkpointFile = "checkpoint"
	policyFile     = "warranty.md"
	keysFile       = "signing-keys.age"
)

const (
	title      = "bailiff backup 1 "
	titleBegun = "bailiff backup 2 "
)

// newWriter begins the log of a backup.
func newWriter(to io.Writer, title string, at time.Time) (*groupfile.Writer, error) {
	return groupfile.NewWriter(to, title+at.UTC().Format(time.RFC3339))
}

// A begun is what comes before the groups of a log whose oldest groups were dropped.
type begun struct {
	beginning []byte
	base      io.Reader
}

// read calls begin with what comes before the groups, where something does, and yield with each group, and returns when the backup was
// taken.
func read(from io.Reader, begin func(begun) error, yield func(group []byte) error) (taken time.Time, err error) {
	r, found, at, err := groupfile.NewReader(from, title, titleBegun)
	if err != nil {
		return taken, fmt.Errorf("it is not the log of a backup: %w", err)
	}
	if taken, err = time.Parse(time.RFC3339, at); err != nil {
		return taken, fmt.Errorf("its first line has no time: %w", err)
	}
	if found == titleBegun {
		if err := readBegun(r, begin); err != nil {
			return taken, err
		}
	}
	_, err = r.Groups(0, yield)
	return taken, err
}

func readBegun(r *groupfile.Reader, begin func(begun) error) error {
	part, size, err := r.Part()
	if err == nil && size > maxBeginning {
		err = fmt.Errorf("what its log begins with has %d bytes, of at most %d", size, maxBeginning)
	}
	if err != nil {
		return err
	}
	var b begun
	if b.beginning, err = io.ReadAll(part); err != nil {
		return err
	}
	if b.base, _, err = r.Part(); err != nil {
		return err
	}
	return begin(b)
}

// maxBeginning bounds a beginning; one has under 6 kB.
const maxBeginning = 128 << 10

// A baseReader reads the base of a service's log.
type baseReader struct {
	ctx   context.Context
	admin client.Admin
	of    uint64
	at    int64
	rest  []byte
}

// Read implements io.Reader.
func (r *baseReader) Read(b []byte) (int, error) {
	if len(r.rest) == 0 {
		page, err := r.admin.BackupBase(r.ctx, r.of, r.at)
		if err != nil {
			return 0, err
		}
		if len(page.Base) == 0 {
			return 0, io.EOF
		}
		r.at, r.rest = r.at+int64(len(page.Base)), page.Base
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
