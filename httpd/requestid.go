package httpd

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync/atomic"

	"bailiff/runtime/ledger"
)

const (
	// maxRequestID is the longest X-Request-Id that is taken over, in bytes.
	maxRequestID = 64
	// madeRequestID is the length of one that is made: an id in hexadecimal.
	madeRequestID = 32
)

// requestIDs makes ids of requests: eight random bytes of this process and a number, mixed so that it does not tell how
// many requests there were.
type requestIDs struct {
	process [8]byte
	offset  uint64
	count   atomic.Uint64
}

// init draws what is random.
func (r *requestIDs) init(random io.Reader) error {
	var raw [16]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return fmt.Errorf("reading random bytes: %w", err)
	}
	copy(r.process[:], raw[:8])
	r.offset = binary.LittleEndian.Uint64(raw[8:])
	return nil
}

// next returns a new id.
func (r *requestIDs) next() (id ledger.ID) {
	copy(id[:], r.process[:])
	binary.BigEndian.PutUint64(id[8:], mix(r.count.Add(1)+r.offset))
	return id
}

// mix is a bijection, so that no number comes twice: the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// wellFormedID reports whether an id that a client sent may go into answers, records and logs.
func wellFormedID(id []byte) bool {
	for _, c := range id {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return 0 < len(id) && len(id) <= maxRequestID
}
