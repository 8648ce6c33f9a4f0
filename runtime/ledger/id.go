package ledger

import (
	"encoding/hex"
	"fmt"
)

// An ID names a plan, a key or a hold: 16 bytes, random where they are made. The zero ID names nothing.
type ID [16]byte

// String returns id in the textual form of a UUID (RFC 9562, section 4).
func (id ID) String() string {
	var b [36]byte
	hex.Encode(b[0:8], id[0:4])
	hex.Encode(b[9:13], id[4:6])
	hex.Encode(b[14:18], id[6:8])
	hex.Encode(b[19:23], id[8:10])
	hex.Encode(b[24:36], id[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// ParseID reads the form that [ID.String] writes and no other: 36 characters, lower-case hexadecimal digits.
func ParseID(text string) (ID, error) {
	var id ID
	if len(text) == 36 {
		digits := text[0:8] + text[9:13] + text[14:18] + text[19:23] + text[24:36]
		if _, err := hex.Decode(id[:], []byte(digits)); err == nil && id.String() == text {
			return id, nil
		}
	}
	return ID{}, fmt.Errorf("%w: %.40q is not an id of the form xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx in lower case", ErrInvalid, text)
}

// IsZero reports whether id names nothing.
func (id ID) IsZero() bool { return id == ID{} }

// UUIDv4 returns id with the version and variant bits of a random UUID (RFC 9562, section 5.4) set.
func (id ID) UUIDv4() ID {
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}
