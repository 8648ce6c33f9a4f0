package webhook

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"bailiff/runtime/ledger"
)

// secretPrefix marks a secret of Standard Webhooks.
const secretPrefix = "whsec_"

// newSecretBytes is the length of a secret that is made here.
const newSecretBytes = 32

// ErrSecret says that a text is no secret of a webhook.
var ErrSecret = errors.New("webhook: not a secret")

// NewSecret returns a new secret, as it is shown ("whsec_" and base64) and as it is kept.
func NewSecret(random io.Reader) (wire string, raw []byte, err error) {
	raw = make([]byte, newSecretBytes)
	if _, err := io.ReadFull(random, raw); err != nil {
		return "", nil, fmt.Errorf("webhook: reading randomness for a secret: %w", err)
	}
	return FormatSecret(raw), raw, nil
}

// FormatSecret returns a secret as it is shown.
func FormatSecret(raw []byte) string {
	return secretPrefix + base64.StdEncoding.EncodeToString(raw)
}

// ParseSecret reads a secret as [FormatSecret] writes it; the prefix may be missing. It has 24 to 64 bytes. Every error
// wraps [ErrSecret], and none repeats the text.
func ParseSecret(wire string) ([]byte, error) {
	raw, err := base64.StdEncoding.Strict().DecodeString(strings.TrimPrefix(wire, secretPrefix))
	switch {
	case err != nil || strings.ContainsAny(wire, "\r\n"): // which the decoder would skip
		return nil, fmt.Errorf("%w: write %s and base64 (RFC 4648, section 4)", ErrSecret, secretPrefix)
	case len(raw) < ledger.MinWebhookSecret || len(raw) > ledger.MaxWebhookSecret:
		return nil, fmt.Errorf("%w: it has %d bytes: give %d to %d", ErrSecret, len(raw), ledger.MinWebhookSecret, ledger.MaxWebhookSecret)
	}
	return raw, nil
}
