package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// maxReceived is the largest body that a Receiver reads, in bytes. A delivery has a few thousand.
const maxReceived = 1 << 20

// A Receiver is an http.Handler for development: it verifies deliveries and prints them. What does not verify is
// answered 401 and printed as a reason alone.
type Receiver struct {
	verifier *standardwebhooks.Webhook
	mu       sync.Mutex // one delivery is printed at a time
	out      io.Writer
}

// NewReceiver returns a receiver of deliveries that are signed with a secret (see [ParseSecret]). It prints to out.
func NewReceiver(secret []byte, out io.Writer) (*Receiver, error) {
	verifier, err := standardwebhooks.NewWebhookRaw(secret)
	if err != nil {
		return nil, err
	}
	return &Receiver{verifier: verifier, out: out}, nil
}

// ServeHTTP answers a delivery.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "a webhook is delivered by POST", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxReceived))
	if err != nil {
		http.Error(w, "the body cannot be read", http.StatusBadRequest)
		return
	}
	if err := r.verifier.Verify(body, request.Header); err != nil {
		r.print(fmt.Sprintf("refused: %v\n", err))
		http.Error(w, "the signature does not verify", http.StatusUnauthorized)
		return
	}
	r.print(describe(request.Header.Get(standardwebhooks.HeaderWebhookID), body))
	w.WriteHeader(http.StatusNoContent)
}

func (r *Receiver) print(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	io.WriteString(r.out, text) //nolint:errcheck // who does not look at the output misses nothing else
}

// describe returns the text that is printed of a delivery that has verified.
func describe(id string, body []byte) string {
	var known struct{ Type, Timestamp string }
	var pretty bytes.Buffer
	if json.Unmarshal(body, &known) != nil || json.Indent(&pretty, body, "  ", "  ") != nil {
		return fmt.Sprintf("verified: %q, but its body is not a JSON object: %.200q\n", id, body)
	}
	return fmt.Sprintf("verified: %q %q of %q\n  %s\n", known.Type, id, known.Timestamp, pretty.Bytes())
}
