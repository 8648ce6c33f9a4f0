package attest

import (
	"crypto/ed25519"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/note"
)

// reportName names the signature of a run report (C2SP signed-note).
const reportName = "bailiff-run-report"

// MaxReportBytes bounds a signed run report.
const MaxReportBytes = 1_000_000

// errReport says that a run report is not signed as it should be.
var errReport = errors.New("the run report is invalid")

// SignReport returns the text of a run report as a signed note. The text ends with a line feed, and has no other control
// characters.
func SignReport(private ed25519.PrivateKey, text string) ([]byte, error) {
	public := private.Public().(ed25519.PublicKey)
	signed, err := note.Sign(&note.Note{Text: text}, &noteKey{
		name: reportName, id: noteID(reportName, noteEd25519, public),
		sign: func(text []byte) ([]byte, error) { return ed25519.Sign(private, text), nil },
	})
	if err != nil {
		return nil, err
	}
	if _, err := OpenReport(public, signed); err != nil {
		return nil, err
	}
	return signed, nil
}

// OpenReport verifies a signed run report and returns its text. Other keys' signatures are not looked at.
func OpenReport(public ed25519.PublicKey, signed []byte) (text string, err error) {
	if err := checkPoint(public); err != nil {
		return "", fmt.Errorf("%w: %w", errOperatorKey, err)
	}
	if len(signed) > MaxReportBytes {
		return "", fmt.Errorf("%w: it has more than %d bytes", errReport, MaxReportBytes)
	}
	opened, err := note.Open(signed, note.VerifierList(&noteKey{
		name: reportName, id: noteID(reportName, noteEd25519, public),
		verify: func(text, signature []byte) bool { return ed25519.Verify(public, text, signature) },
	}))
	if err != nil {
		return "", fmt.Errorf("%w: %w", errReport, err)
	}
	return opened.Text, nil
}
