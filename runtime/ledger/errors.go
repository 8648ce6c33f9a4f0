package ledger

import (
	"errors"
	"fmt"
)

// A SerialError is an [ErrSerial] with the numbers.
type SerialError struct {
	Serial uint64 // of the policy that is refused; 0 where it has none
	Latest uint64 // the highest of those before
}

// Error returns the numbers in words.
func (e *SerialError) Error() string {
	return fmt.Sprintf("%v: %d after %d", ErrSerial, e.Serial, e.Latest)
}

// Unwrap returns ErrSerial.
func (e *SerialError) Unwrap() error { return ErrSerial }

// A StorageError is an [ErrStorage] with the numbers, in bytes.
type StorageError struct {
	Size   uint64 // of the deployment that is refused
	Stored uint64 // by the deployments before
	Most   uint64 // what the key may keep
}

// Error returns the numbers in words.
func (e *StorageError) Error() string {
	return fmt.Sprintf("%v: %d bytes beside %d, and it may keep %d", ErrStorage, e.Size, e.Stored, e.Most)
}

// Unwrap returns ErrStorage.
func (e *StorageError) Unwrap() error { return ErrStorage }

// The errors of every ledger. They are wrapped with what they concern; test with errors.Is.
var (
	// ErrUnavailable says that the ledger refused: nothing was decided and nothing recorded. After a failed write
	// that lasts until the ledger has been closed and opened again; Health says why.
	ErrUnavailable = errors.New("ledger: unavailable")
	// ErrClosed is an ErrUnavailable: the ledger was closed before.
	ErrClosed = fmt.Errorf("%w: closed", ErrUnavailable)
	// ErrBusy is an ErrUnavailable: too much waits for the disk. It passes by itself; the ledger need not be opened again.
	ErrBusy = fmt.Errorf("%w: too much waits for the disk", ErrUnavailable)
	// ErrUnknown says that the record may or may not have been kept. It never means that it was not.
	ErrUnknown = errors.New("ledger: it is unknown whether the record was kept")
	// ErrInvalid says that a plan, key or resolution breaks a bound of this package: a defect of the caller.
	ErrInvalid = errors.New("ledger: invalid")
	// ErrNotFound says that there is no such key, or no such hold of that key (missing, expired and foreign ones
	// are one and the same).
	ErrNotFound = errors.New("ledger: not found")
	// ErrKeyExists says that a key with that id or hash exists.
	ErrKeyExists = errors.New("ledger: the key exists already")
	// ErrKeyRevoked says that the key was revoked before.
	ErrKeyRevoked = errors.New("ledger: the key is revoked")
	// ErrHoldResolved says that the hold was resolved before.
	ErrHoldResolved = errors.New("ledger: the hold is resolved already")
	// ErrOperator says that the key is pinned to another operator public key.
	ErrOperator = errors.New("ledger: the key is pinned to another operator key")
	// ErrRollback says that the policy was deployed before and replaced since, and that this is refused.
	ErrRollback = errors.New("ledger: the policy goes back to an earlier one")
	// ErrStatementSerial: an operator's statement about a halt or an approver has a serial that was used, or is not the next one.
	ErrStatementSerial = errors.New("ledger: the serial of the statement does not follow")
	// ErrSerial is an ErrRollback: the policy has no serial, or none above those that the key has had. It comes as a
	// [SerialError].
	ErrSerial = fmt.Errorf("%w: its serial is not higher", ErrRollback)
	// ErrStorage says that the key's deployments would keep more bytes than they may. It comes as a [StorageError].
	ErrStorage = errors.New("ledger: the key's deployments keep as much as they may")
	// ErrNotNamed says that the key takes only policies that name it, and this one does not.
	ErrNotNamed = errors.New("ledger: the policy does not name the key")
	// ErrUsed says that the attestation or activation was used before.
	ErrUsed = errors.New("ledger: used already")
	// ErrExpired says that the attestation or activation has expired.
	ErrExpired = errors.New("ledger: expired")
	// ErrStale says that the key's epoch has moved, or that the default policy was replaced: look both up again.
	ErrStale = errors.New("ledger: the key's epoch has moved or the default policy was replaced")
	// ErrTooMany says that the key has as many of these as it may have.
	ErrTooMany = errors.New("ledger: too many")
	// ErrLocked says that another process holds the ledger's directory.
	ErrLocked = errors.New("ledger: locked by another process")
	// ErrCorrupt says that the log cannot be what was written. Opening is refused; nothing is repaired.
	ErrCorrupt = errors.New("ledger: the log is corrupt")
)
