package jcs

import (
	"crypto/sha256"
	"encoding/hex"
)

// Request returns the body of a request for a decision about an intent that is in the form of RFC 8785 (specification,
// "authorize"). Its txCommit is the SHA-256 of the intent.
func Request(framework, agentID string, intent []byte) []byte {
	sum := sha256.Sum256(intent)
	body := append(make([]byte, 0, len(intent)+256), `{"framework":`...)
	body = AppendString(body, framework)
	body = AppendString(append(body, `,"agentId":`...), agentID)
	body = hex.AppendEncode(append(body, `,"txCommit":"`...), sum[:])
	return append(append(append(body, `","intent":`...), intent...), '}')
}
