package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"bailiff/runtime/budget"
)

// How much memory upstream answers may take until clients have read them (decisions, section 8).
const (
	defaultMaxHeld = 256 << 20 // bytes in all
	// maxHeldBySource lets one source hold two of the largest answers, so that no few connections use up everything.
	maxHeldBySource = 96 << 20
	// holdPatience is how long a read waits for room, each time that it needs some.
	holdPatience = 5 * time.Second
	// A read takes leastHeld before it is sent: where there is no room, it is not sent.
	leastHeld = 16 << 10
	// The memory of an answer that does not tell its length begins with firstHeld and grows by growth.
	firstHeld = 4 << 10
	growth    = 4
)

// NewAnswers returns the budget of the upstreams' answers.
func NewAnswers(clock func() time.Time, log *slog.Logger) *budget.Budget {
	return budget.New(budget.Options{
		Name: "upstream_answers", Most: defaultMaxHeld, Share: maxHeldBySource, Clock: clock, Log: log,
	})
}

// A held counts the memory of one upstream answer, from before it is read until the client has read it.
type held struct {
	budget   *budget.Budget // nil: nothing is counted
	source   netip.Addr
	write    bool // never waits, and is never refused: what came of a write must be told
	patience time.Duration
	timeout  func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	room     int   // bytes that read leaves before the answer
	taken    int64 // bytes
}

// hold returns what counts the answer to a request, with room for what the client's id takes.
func (u *upstream) hold(r *Request) *held {
	h := r.reserved
	if h == nil {
		h = &held{budget: u.answers, source: r.Source, write: r.write, patience: u.patience, timeout: u.timeout}
	}
	h.room = len(r.call.id) + encloseBytes
	return h
}

// A noRoomError says in words that an answer has no room.
type noRoomError struct {
	reason error // ErrFull or ErrShare of package budget
	most   int64
}

// Error returns the words.
func (e *noRoomError) Error() string {
	if errors.Is(e.reason, budget.ErrShare) {
		return fmt.Sprintf("the answers that clients at your address have not read yet take %d MiB, the most for one address; read them, then ask again", e.most>>20)
	}
	return fmt.Sprintf("the answers that clients have not read yet take %d MiB, the most there may be; ask again in a few seconds", e.most>>20)
}

// grow takes more memory, up to so many bytes.
func (h *held) grow(ctx context.Context, to int64) error {
	missing := to - h.taken
	switch {
	case h.budget == nil || missing <= 0:
		return nil
	case h.write:
		h.budget.Force(h.source, missing)
	default:
		ctx, cancel := h.timeout(ctx, h.patience)
		defer cancel()
		if err := h.budget.Wait(ctx, h.source, missing, h.taken > 0); err != nil {
			most := h.budget.Most
			if errors.Is(err, budget.ErrShare) {
				most = h.budget.Share
			}
			return &noRoomError{err, most}
		}
	}
	h.taken = to
	return nil
}

// shrink gives back all memory beyond so many bytes.
func (h *held) shrink(to int64) {
	if h.budget != nil && h.taken > to {
		h.budget.Give(h.source, h.taken-to)
		h.taken = to
	}
}

func (h *held) release() { h.shrink(0) }

// read reads a body up to its end, or its length where that is not negative, of at most so many bytes. It returns it after
// the room; memory is taken from the budget before it is allocated.
func (h *held) read(ctx context.Context, body io.Reader, length, most int64) ([]byte, error) {
	if length > most {
		return nil, errTooLarge
	}
	first := int64(h.room) + firstHeld
	if length >= 0 {
		first = int64(h.room) + length
	}
	if err := h.grow(ctx, first); err != nil {
		return nil, err
	}
	buffer := make([]byte, first)
	if length >= 0 {
		_, err := io.ReadFull(body, buffer[h.room:])
		h.shrink(first)
		return buffer, err
	}
	for end := h.room; ; {
		n, err := body.Read(buffer[end:])
		switch end += n; {
		case int64(end-h.room) > most:
			return nil, errTooLarge
		case errors.Is(err, io.EOF):
			h.shrink(int64(len(buffer)))
			return buffer[:end], nil
		case err != nil:
			return nil, err
		case end < len(buffer):
			continue
		}
		if buffer, err = h.enlarge(ctx, buffer, most); err != nil {
			return nil, err
		}
	}
}

// enlarge returns a copy of a buffer that is full, in more memory. Both count while they are there.
func (h *held) enlarge(ctx context.Context, full []byte, most int64) ([]byte, error) {
	size := min(int64(len(full))*growth, int64(h.room)+most+1)
	if err := h.grow(ctx, int64(len(full))+size); err != nil {
		return nil, err
	}
	larger := make([]byte, size)
	copy(larger, full)
	h.shrink(size)
	return larger, nil
}

// encloseBytes is how much enclose writes before a value, apart from the id.
const encloseBytes = len(`{"jsonrpc":"2.0","id":null,"result":`)

// enclose makes a response of a value, in the memory that it is a part of: with the id of the client's request before it,
// and after it, in place of what closed the upstream's answer, the end.
func enclose(buffer, id []byte, name string, value jsontext.Value) []byte {
	start := cap(buffer) - cap(value)
	var head [encloseBytes + maxID]byte
	before := append(append(append(appendID(head[:0], id), `,"`...), name...), `":`...)
	from := start - len(before)
	copy(buffer[from:], before)
	end := start + len(value)
	buffer[end] = '}'
	return buffer[from : end+1]
}
