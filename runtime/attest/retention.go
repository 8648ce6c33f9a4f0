package attest

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A RetentionCheckpoint says where a log begins whose oldest groups retention has dropped, and from which state (specification,
// retention.4).
type RetentionCheckpoint struct {
	Checkpoint          // of the group that was dropped last
	Base       [32]byte // SHA-256 of what replay starts from
	Export     [32]byte // SHA-256 of the file that has the groups
}

// retentionOrigin begins the first line of a retention checkpoint, so that it can't pass for the checkpoint of a log's end.
const retentionOrigin = "bailiff-retention/"

// retentionContext is the context string of ML-DSA-65 signatures over retention checkpoints.
const retentionContext = "svc-pqc-retention-v1"

func (c RetentionCheckpoint) origin() string {
	return retentionOrigin + hex.EncodeToString(c.Stream[:])
}

// Text returns the checkpoint's text: origin, size, hash, and extension lines with its time and the two hashes.
func (c RetentionCheckpoint) Text() string {
	_, rest, _ := strings.Cut(c.Checkpoint.Text(), "\n")
	return fmt.Sprintf("%s\n%sbase %s\nexport %s\n", c.origin(), rest, base64.StdEncoding.EncodeToString(c.Base[:]), base64.StdEncoding.EncodeToString(c.Export[:]))
}

// parseRetention reads what Text writes, and no other spelling of it.
func parseRetention(text string) (c RetentionCheckpoint, err error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 7 {
		return c, fmt.Errorf("%w: it has %d lines, not 6", errCheckpoint, len(lines)-1)
	}
	stream, _ := hex.DecodeString(strings.TrimPrefix(lines[0], retentionOrigin))
	copy(c.Stream[:], stream)
	c.LSN, _ = strconv.ParseUint(lines[1], 10, 64)
	c.At, _ = time.Parse(time.RFC3339, strings.TrimPrefix(lines[3], "time "))
	for _, hash := range []struct {
		to   *[32]byte
		text string
	}{{&c.Hash, lines[2]}, {&c.Base, strings.TrimPrefix(lines[4], "base ")}, {&c.Export, strings.TrimPrefix(lines[5], "export ")}} {
		sum, _ := base64.StdEncoding.DecodeString(hash.text)
		copy(hash.to[:], sum)
	}
	if c.Text() != text { // which holds for a faithful reading alone
		return c, fmt.Errorf("%w: its text is not origin, size, hash, time, base and export", errCheckpoint)
	}
	return c, nil
}

// SignRetention returns a retention checkpoint as a signed note, with both signatures.
func (s *Signer) SignRetention(c RetentionCheckpoint) ([]byte, error) {
	return s.signNote(c.origin(), c.Text(), retentionContext)
}

// OpenRetention verifies a signed retention checkpoint, as Open does a checkpoint.
func (v *CheckpointVerifier) OpenRetention(signed []byte) (RetentionCheckpoint, error) {
	text, err := v.open(signed, retentionContext)
	if err != nil {
		return RetentionCheckpoint{}, err
	}
	return parseRetention(text)
}
