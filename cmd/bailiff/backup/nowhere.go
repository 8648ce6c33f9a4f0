package backup

import (
	"errors"
	"io"
	"os"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

// nowhere is a log that keeps nothing, for verifying, but for its base, which it has in a temporary file.
type nowhere struct{ base *os.File }

var (
	_ commit.Log     = (*nowhere)(nil)
	_ commit.Dropper = (*nowhere)(nil)
)

// Append implements commit.Log.
func (*nowhere) Append(uint64, []byte) error { return nil }

// Read implements commit.Log.
func (*nowhere) Read(uint64, func(uint64, []byte) bool) error { return nil }

// Truncate implements commit.Log.
func (*nowhere) Truncate(uint64) error { return nil }

// Head implements commit.Log.
func (*nowhere) Head() (uint64, error) { return 0, nil }

// SaveBase implements commit.Dropper.
func (n *nowhere) SaveBase(_ uint64, write func(io.Writer) error, _ func(ledger.RetentionStep) error) (err error) {
	if n.base, err = os.CreateTemp("", "bailiff-base-"); err != nil {
		return err
	}
	return errors.Join(os.Remove(n.base.Name()), write(n.base)) // it goes when it is closed
}

// baseOf is the base, which Close closes.
type baseOf struct{ *os.File }

// Size implements commit.Base.
func (b baseOf) Size() (int64, error) {
	info, err := b.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Close implements commit.Base.
func (baseOf) Close() error { return nil }

// OpenBase implements commit.Dropper.
func (n *nowhere) OpenBase(uint64) (commit.Base, error) { return baseOf{n.base}, nil }

// Drop implements commit.Dropper.
func (*nowhere) Drop(uint64, []byte, func(ledger.RetentionStep) error) error { return nil }

// Free implements commit.Dropper.
func (*nowhere) Free(uint64, func(ledger.RetentionStep) error) error { return nil }

// Close removes the base.
func (n *nowhere) Close() {
	if n.base != nil {
		_ = n.base.Close() // nothing is to be kept
	}
}
