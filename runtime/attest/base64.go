package attest

import (
	"encoding/base64"
	"errors"
)

// segment is unpadded base64url whose unused bits must be zero.
var segment = base64.RawURLEncoding.Strict()

func appendBase64(dst, src []byte) []byte { return segment.AppendEncode(dst, src) }

// decodeSegment decodes canonical unpadded base64url: of all texts exactly one gives any one result. The
// standard decoder skips line ends, so that its result must account for every character.
func decodeSegment(text string) ([]byte, error) {
	raw, err := segment.DecodeString(text)
	if err != nil || segment.EncodedLen(len(raw)) != len(text) {
		return nil, errors.New("not canonical unpadded base64url")
	}
	return raw, nil
}
