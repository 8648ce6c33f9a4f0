package attest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
)

// pemType is the label of PKCS#8 private keys (RFC 7468, section 10), whatever their algorithm.
const pemType = "PRIVATE KEY"

// keyPair is what signs: both keys live and die together.
type keyPair struct {
	ed25519 ed25519.PrivateKey
	mldsa   mldsaKey
}

// mldsaKey is an ML-DSA-65 key in both forms: the stored seed, and the key computed from it.
type mldsaKey struct {
	seed    [mldsa65.SeedSize]byte
	private *mldsa65.PrivateKey
	public  *mldsa65.PublicKey
}

func newMLDSAKey(seed [mldsa65.SeedSize]byte) mldsaKey {
	public, private := mldsa65.NewKeyFromSeed(&seed)
	return mldsaKey{seed: seed, private: private, public: public}
}

// generateKeyPair reads two seeds of 32 bytes from random.
func generateKeyPair(random io.Reader) (*keyPair, error) {
	var seeds [2][32]byte
	for i := range seeds {
		if _, err := io.ReadFull(random, seeds[i][:]); err != nil {
			return nil, fmt.Errorf("reading 32 random bytes for a signing key: %w", err)
		}
	}
	return &keyPair{ed25519: ed25519.NewKeyFromSeed(seeds[0][:]), mldsa: newMLDSAKey(seeds[1])}, nil
}

// mldsaPrefix is what precedes the seed in PKCS#8 in the seed form of RFC 9881, section 6, in DER.
var mldsaPrefix = []byte{
	0x30, 0x34, // OneAsymmetricKey (RFC 5958), without attributes and public key
	0x02, 0x01, 0x00, // of version 0
	0x30, 0x0b, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, 0x12, // of the algorithm id-ml-dsa-65
	0x04, 0x22, // whose private key is
	0x80, 0x20, // seed [0] OCTET STRING (SIZE (32)), tagged implicitly
}

// encodeMLDSA returns the key as PKCS#8 in its seed form.
func encodeMLDSA(seed [mldsa65.SeedSize]byte) []byte { return slices.Concat(mldsaPrefix, seed[:]) }

// decodeMLDSA accepts what encodeMLDSA returns, byte for byte, and nothing else.
func decodeMLDSA(der []byte) (mldsaKey, error) {
	seed, found := bytes.CutPrefix(der, mldsaPrefix)
	if !found || len(seed) != mldsa65.SeedSize {
		return mldsaKey{}, errors.New("not an ML-DSA-65 key in the seed form of RFC 9881")
	}
	return newMLDSAKey([mldsa65.SeedSize]byte(seed)), nil
}

// encodeEd25519 returns the key as PKCS#8 of RFC 8410.
func encodeEd25519(private ed25519.PrivateKey) []byte {
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		panic(err) // of a key of another type
	}
	return der
}

// decodeEd25519 reads PKCS#8 of RFC 8410.
func decodeEd25519(der []byte) (ed25519.PrivateKey, error) {
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errors.New("not an Ed25519 key in PKCS#8")
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("a key of type %T, not Ed25519", key)
	}
	return private, nil
}

// encodePEM returns the pair as two PEM blocks: Ed25519 first, then ML-DSA-65.
func (k *keyPair) encodePEM() []byte {
	return append(pemBlock(encodeEd25519(k.ed25519)), pemBlock(encodeMLDSA(k.mldsa.seed))...)
}

// pemBlock returns one private-key block.
func pemBlock(der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}) }

// decodePEM reads what encodePEM returns.
func decodePEM(text []byte) (*keyPair, error) {
	blocks, err := pemBlocks(text, 2)
	if err != nil {
		return nil, err
	}
	first, err := decodeEd25519(blocks[0])
	if err != nil {
		return nil, fmt.Errorf("its first block is %w", err)
	}
	second, err := decodeMLDSA(blocks[1])
	if err != nil {
		return nil, fmt.Errorf("its second block is %w", err)
	}
	return &keyPair{ed25519: first, mldsa: second}, nil
}

// pemBlocks returns the contents of exactly n private-key blocks with nothing but white space around them.
func pemBlocks(text []byte, n int) ([][]byte, error) {
	var blocks [][]byte
	for rest := bytes.TrimSpace(text); len(rest) > 0; rest = bytes.TrimSpace(rest) {
		if !bytes.HasPrefix(rest, []byte("-----BEGIN ")) {
			return nil, errors.New("it contains text outside of its PEM blocks")
		}
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, errors.New("a PEM block is damaged")
		}
		if block.Type != pemType || len(block.Headers) != 0 {
			return nil, fmt.Errorf("it holds a PEM block %q, not a plain %q", block.Type, pemType)
		}
		blocks = append(blocks, block.Bytes)
	}
	if len(blocks) != n {
		return nil, fmt.Errorf("it holds %d PEM blocks, not %d", len(blocks), n)
	}
	return blocks, nil
}
