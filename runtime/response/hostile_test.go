package response

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestHostile: a result as large as a quarter of what may be inspected, made to be slow, is inspected in time that is linear in its
// size: what is not linear takes minutes.
func TestHostile(t *testing.T) {
	all := covering(func(r *Rules) { r.Redact, r.DenyString = classes, "never" })
	for _, piece := range []string{"a@", "a.", "1 ", "DE89 ", "ignore all the ", "http://a", "eyJabcdefgh.", "-----BEGIN PRIVATE KEY", "password=", "x", "+1 2"} {
		const size = maxResult / 4
		text, _ := json.Marshal(strings.Repeat(piece, size/len(piece)))
		began := time.Now()
		_, _, _ = all.Apply("web", "fetch", text, noon)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%d bytes of %q take %v", size, piece, took)
		} else if testing.Verbose() {
			t.Logf("%d bytes of %q: %v", size, piece, took)
		}
	}
}
