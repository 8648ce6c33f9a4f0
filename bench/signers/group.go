package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"

	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
	"golang.org/x/mod/sumdb/tlog"
)

// A prototype: a group of attestations with one ML-DSA-65 signature over the root of the Merkle tree of their claims (RFC 6962).
// Each has the root, its path in the tree, that signature, and an Ed25519 signature of its own. A token here is, in base64,
//
//	length of the claims, size of the group, place in it, number of hashes (16 bits each) ‖ claims ‖ hashes ‖ signature
//
// and the Ed25519 signature of that text. The first hash is the root, the others are the path. A token by itself has a group
// of size 0 and no hashes, and the signature is of its claims.

const (
	groupContext  = "bailiff-group-prototype"
	singleContext = "bailiff-single-prototype"
	headSize      = 8
)

var errToken = errors.New("not a token of a group")

// A groupSigner has the keys of tokens.
type groupSigner struct {
	first  ed25519.PrivateKey
	second signer
}

// single returns a token by itself.
func (g *groupSigner) single(claims []byte) ([]byte, error) {
	signature := make([]byte, mldsa65.SignatureSize)
	if err := g.second.sign(signature, claims, []byte(singleContext), true); err != nil {
		return nil, err
	}
	return g.token(claims, 0, 0, nil, signature), nil
}

// group returns a token for each of the claims.
func (g *groupSigner) group(claims [][]byte) ([][]byte, error) {
	size, stored := int64(len(claims)), tree{}
	for i, one := range claims {
		hashes, err := tlog.StoredHashesForRecordHash(int64(i), tlog.RecordHash(one), stored)
		if err != nil {
			return nil, err
		}
		stored = append(stored, hashes...)
	}
	root, err := tlog.TreeHash(size, stored)
	if err != nil {
		return nil, err
	}
	signature := make([]byte, mldsa65.SignatureSize)
	if err := g.second.sign(signature, signedRoot(int(size), root), []byte(groupContext), true); err != nil {
		return nil, err
	}
	tokens := make([][]byte, len(claims))
	for i, one := range claims {
		path, err := tlog.ProveRecord(size, int64(i), stored)
		if err != nil {
			return nil, err
		}
		tokens[i] = g.token(one, len(claims), i, append([]tlog.Hash{root}, path...), signature)
	}
	return tokens, nil
}

// tree has the hashes of a Merkle tree in the order of tlog.
type tree []tlog.Hash

// ReadHashes implements tlog.HashReader.
func (t tree) ReadHashes(places []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(places))
	for i, place := range places {
		hashes[i] = t[place]
	}
	return hashes, nil
}

// signedRoot is what the signature of a group signs.
func signedRoot(size int, root tlog.Hash) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(size)), root[:]...)
}

func (g *groupSigner) token(claims []byte, size, place int, hashes []tlog.Hash, signature []byte) []byte {
	payload := make([]byte, 0, headSize+len(claims)+len(hashes)*tlog.HashSize+len(signature))
	for _, n := range [...]int{len(claims), size, place, len(hashes)} {
		payload = binary.BigEndian.AppendUint16(payload, uint16(n))
	}
	payload = append(payload, claims...)
	for _, hash := range hashes {
		payload = append(payload, hash[:]...)
	}
	payload = append(payload, signature...)
	text := base64.RawURLEncoding.AppendEncode(nil, payload)
	return base64.RawURLEncoding.AppendEncode(append(text, '.'), ed25519.Sign(g.first, text))
}

// A groupVerifier has the public keys of tokens.
type groupVerifier struct {
	first  ed25519.PublicKey
	second verifier
}

// verify returns the claims of a token whose signatures verify.
func (g *groupVerifier) verify(token []byte) ([]byte, error) {
	dot := slices.Index(token, '.')
	if dot < 0 {
		return nil, errToken
	}
	signature, err := base64.RawURLEncoding.AppendDecode(nil, token[dot+1:])
	if err != nil || !ed25519.Verify(g.first, token[:dot], signature) {
		return nil, errToken
	}
	payload, err := base64.RawURLEncoding.AppendDecode(nil, token[:dot])
	if err != nil || len(payload) < headSize {
		return nil, errToken
	}
	return g.verifyPayload(payload)
}

func (g *groupVerifier) verifyPayload(payload []byte) ([]byte, error) {
	var head [4]int
	for i := range head {
		head[i] = int(binary.BigEndian.Uint16(payload[2*i:]))
	}
	length, size, place := head[0], head[1], head[2]
	hashes, rest := make([]tlog.Hash, head[3]), payload[headSize:]
	if len(rest) != length+len(hashes)*tlog.HashSize+mldsa65.SignatureSize || (size == 0) != (len(hashes) == 0) {
		return nil, errToken
	}
	claims, rest := rest[:length], rest[length:]
	for i := range hashes {
		rest = rest[copy(hashes[i][:], rest):]
	}
	message, context := claims, singleContext
	if size > 0 {
		root, path := hashes[0], hashes[1:]
		if err := tlog.CheckRecord(path, int64(size), root, int64(place), tlog.RecordHash(claims)); err != nil {
			return nil, errToken
		}
		message, context = signedRoot(size, root), groupContext
	}
	if !g.second.verify(message, []byte(context), rest) {
		return nil, errToken
	}
	return claims, nil
}

// pathSize returns the bytes of the longest path in a tree of n.
func pathSize(n int) int { return bits.Len(uint(n-1)) * tlog.HashSize }
