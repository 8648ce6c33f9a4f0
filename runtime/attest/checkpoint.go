package attest

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
	"golang.org/x/mod/sumdb/note"
)

// A Checkpoint says how far the service's log had come: everything up to a record, by the hash of the group that ends
// there. With one a client can tell later whether the log still holds what it held (C2SP tlog-checkpoint, with the
// hash of a chain in the place of a tree's).
type Checkpoint struct {
	Stream [16]byte  // id of the log
	LSN    uint64    // of its last record; the size of the checkpoint
	Hash   [32]byte  // SHA-256 of the log's last group
	At     time.Time // when it was made, in whole seconds
}

// MaxCheckpointBytes bounds a signed checkpoint; one with two signatures has under 5 kB.
const MaxCheckpointBytes = 64 << 10

// checkpointOrigin begins the first line of a checkpoint, which the log's id completes. It names the signatures too.
const checkpointOrigin = "bailiff-ledger/"

// checkpointContext is the context string of ML-DSA-65 signatures over checkpoints.
const checkpointContext = "svc-pqc-checkpoint-v1"

// The types of signatures in the ids of their keys (C2SP signed-note): Ed25519's own, and the one that is followed by
// a name, for algorithms that have none.
const (
	noteEd25519 = "\x01"
	noteMLDSA   = "\xffml-dsa-65"
)

// errCheckpoint says that a checkpoint is malformed, or not signed as it should be.
var errCheckpoint = errors.New("the checkpoint is invalid")

// Text returns the checkpoint's text: origin, size, hash, and one extension line with its time.
func (c Checkpoint) Text() string {
	return fmt.Sprintf("%s\n%d\n%s\ntime %s\n", c.origin(), c.LSN, base64.StdEncoding.EncodeToString(c.Hash[:]),
		c.At.UTC().Format(time.RFC3339))
}

func (c Checkpoint) origin() string { return checkpointOrigin + hex.EncodeToString(c.Stream[:]) }

// parseCheckpoint reads what Text writes, and no other spelling of it.
func parseCheckpoint(text string) (Checkpoint, error) {
	var c Checkpoint
	lines := strings.Split(text, "\n")
	if len(lines) != 5 {
		return c, fmt.Errorf("%w: it has %d lines, not 4", errCheckpoint, len(lines)-1)
	}
	stream, _ := hex.DecodeString(strings.TrimPrefix(lines[0], checkpointOrigin))
	copy(c.Stream[:], stream)
	c.LSN, _ = strconv.ParseUint(lines[1], 10, 64)
	hash, _ := base64.StdEncoding.DecodeString(lines[2])
	copy(c.Hash[:], hash)
	c.At, _ = time.Parse(time.RFC3339, strings.TrimPrefix(lines[3], "time "))
	if c.Text() != text { // which holds for a faithful reading alone
		return c, fmt.Errorf("%w: its text is not origin, size, hash and time", errCheckpoint)
	}
	return c, nil
}

// SignCheckpoint returns a checkpoint as a signed note, with both signatures.
func (s *Signer) SignCheckpoint(c Checkpoint) ([]byte, error) {
	return s.signNote(c.origin(), c.Text(), checkpointContext)
}

// signNote signs a text whose first line is name. The context is that of the ML-DSA-65 signature.
func (s *Signer) signNote(name, text, context string) ([]byte, error) {
	return note.Sign(&note.Note{Text: text},
		&noteKey{name: name, id: noteID(name, noteEd25519, s.ed25519[0].key), sign: func(text []byte) ([]byte, error) {
			return ed25519.Sign(s.pair.ed25519, text), nil
		}},
		&noteKey{name: name, id: noteID(name, noteMLDSA, s.mldsa[0].key.Bytes()), sign: func(text []byte) ([]byte, error) {
			signature := make([]byte, mldsa65.SignatureSize)
			return signature, signMLDSA(s.pair.mldsa.private, text, context, true, signature)
		}})
}

// A CheckpointVerifier verifies the checkpoints of one service. It is immutable.
type CheckpointVerifier struct {
	ed25519 []listed[ed25519.PublicKey]
	mldsa   []listed[*mldsa65.PublicKey]
}

// CheckpointVerifier returns a verifier for the signer's own checkpoints, those of retired keys included.
func (s *Signer) CheckpointVerifier() *CheckpointVerifier {
	return &CheckpointVerifier{s.ed25519, s.mldsa}
}

// NewCheckpointVerifier returns a verifier from a service's two key-set documents.
func NewCheckpointVerifier(jwks, pqcKeys []byte) (*CheckpointVerifier, error) {
	classical, err := parseJWKS(jwks)
	if err != nil {
		return nil, err
	}
	quantum, err := parsePQCKeys(pqcKeys)
	return &CheckpointVerifier{classical, quantum}, err
}

// Open verifies a signed checkpoint and returns it. It must have a signature of each kind by a known key, and none by a
// known key that is wrong; signatures of others are not looked at. The error wraps errCheckpoint.
func (v *CheckpointVerifier) Open(signed []byte) (Checkpoint, error) {
	text, err := v.open(signed, checkpointContext)
	if err != nil {
		return Checkpoint{}, err
	}
	return parseCheckpoint(text)
}

// open verifies a signed note and returns its text.
func (v *CheckpointVerifier) open(signed []byte, context string) (text string, err error) {
	if len(signed) > MaxCheckpointBytes {
		return "", fmt.Errorf("%w: it has more than %d bytes", errCheckpoint, MaxCheckpointBytes)
	}
	name, _, _ := strings.Cut(string(signed), "\n")
	classical, quantum := v.keys(name, context)
	opened, err := note.Open(signed, note.VerifierList(append(classical, quantum...)...))
	if err != nil {
		return "", fmt.Errorf("%w: %w", errCheckpoint, err)
	}
	for i, kind := range [][]note.Verifier{classical, quantum} {
		if !signedBy(opened, kind) {
			return "", fmt.Errorf("%w: it has no %s signature by a known key", errCheckpoint, [...]string{"Ed25519", "ML-DSA-65"}[i])
		}
	}
	return opened.Text, nil
}

// keys returns the verifiers' keys under the name of one log.
func (v *CheckpointVerifier) keys(name, context string) (classical, quantum []note.Verifier) {
	for _, one := range v.ed25519 {
		key := one.key
		classical = append(classical, &noteKey{name: name, id: noteID(name, noteEd25519, key), verify: func(text, signature []byte) bool {
			return ed25519.Verify(key, text, signature)
		}})
	}
	for _, one := range v.mldsa {
		key := one.key
		quantum = append(quantum, &noteKey{name: name, id: noteID(name, noteMLDSA, key.Bytes()), verify: func(text, signature []byte) bool {
			return verifyMLDSA(key, text, context, signature)
		}})
	}
	return classical, quantum
}

// signedBy reports whether one of the keys has signed.
func signedBy(opened *note.Note, keys []note.Verifier) bool {
	for _, signature := range opened.Sigs {
		for _, key := range keys {
			if signature.Name == key.Name() && signature.Hash == key.KeyHash() {
				return true
			}
		}
	}
	return false
}

// noteID is the id of a key under a name (C2SP signed-note): the first four bytes of a hash over name, type and key.
func noteID(name, kind string, public []byte) uint32 {
	sum := sha256.Sum256([]byte(name + "\n" + kind + string(public)))
	return binary.BigEndian.Uint32(sum[:])
}

// noteKey is a key as package note takes it, to sign or to verify.
type noteKey struct {
	name   string
	id     uint32
	sign   func(text []byte) ([]byte, error)
	verify func(text, signature []byte) bool
}

// Name implements note.Signer and note.Verifier.
func (k *noteKey) Name() string { return k.name }

// KeyHash implements note.Signer and note.Verifier.
func (k *noteKey) KeyHash() uint32 { return k.id }

// Sign implements note.Signer.
func (k *noteKey) Sign(text []byte) ([]byte, error) { return k.sign(text) }

// Verify implements note.Verifier.
func (k *noteKey) Verify(text, signature []byte) bool { return k.verify(text, signature) }
