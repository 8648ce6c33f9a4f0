package attest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// KeyFileName is the file in the key folder that holds the current pair of signing keys: two PEM blocks
// of PKCS#8, Ed25519 (RFC 8410) and then ML-DSA-65 in its seed form (RFC 9881). One file, so that there
// are always both keys or none.
const KeyFileName = "attestation-keys.pem"

// retiredName is the form of a retired pair's file name. Ten digits of Unix seconds last until the year
// 2286, and a time in milliseconds does not pass.
var retiredName = regexp.MustCompile(`^retired-([0-9]{10})\.pem$`)

// LoadOrCreate returns the signer of the keys in dir (SVC_KEY_DIR). At the first start it makes the folder
// (mode 0700) and the file KeyFileName (mode 0600) from random, all or nothing; processes that start at
// once end with one pair. Retired pairs are read from `retired-<Unix seconds>.pem` beside it: their public
// keys stay in the key sets for retiredSeconds after that time.
//
// Files that others can read, a folder that others can write, and anything that can't be read as what it
// should be are refused with errKeyFile, and nothing is made in their stead.
func LoadOrCreate(dir string, random io.Reader) (*Signer, error) {
	if err := privateDir(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, KeyFileName)
	pair, err := readPair(path)
	if missing(err) {
		pair, err = createPair(path, random)
	}
	if err != nil {
		return nil, err
	}
	retired, err := readRetired(dir)
	if err != nil {
		return nil, err
	}
	return newSigner(pair, retired)
}

// Load returns the signer of a key file that the operator names, in the form of KeyFileName; nothing is
// ever made there. There are no retired keys beside it.
func Load(path string) (*Signer, error) {
	pair, err := readPair(path)
	if err != nil {
		return nil, err
	}
	return newSigner(pair, nil)
}

func readPair(path string) (*keyPair, error) {
	text, err := readPrivate(path)
	if err != nil {
		return nil, err
	}
	pair, err := decodePEM(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w; restore it from a backup, or move it away to have new keys made",
			errKeyFile, path, err)
	}
	return pair, nil
}

// createPair makes a pair, or reads the one that another process made meanwhile.
func createPair(path string, random io.Reader) (*keyPair, error) {
	pair, err := generateKeyPair(random)
	if err != nil {
		return nil, err
	}
	err = writePrivate(path, pair.encodePEM())
	if exists(err) {
		return readPair(path)
	}
	return pair, err
}

// retiredPair is a pair that no longer signs.
type retiredPair struct {
	*keyPair
	at int64 // Unix seconds
}

// readRetired reads the retired pairs, newest first.
func readRetired(dir string) ([]retiredPair, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errKeyFile, err)
	}
	var pairs []retiredPair
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), "retired-") {
			continue
		}
		pair, err := readRetiredFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, pair)
	}
	slices.Reverse(pairs)
	return pairs, nil
}

func readRetiredFile(path string) (retiredPair, error) {
	match := retiredName.FindStringSubmatch(filepath.Base(path))
	if match == nil {
		return retiredPair{}, fmt.Errorf("%w: %s is not named retired-<10 digits of Unix seconds>.pem",
			errKeyFile, path)
	}
	at, _ := strconv.ParseInt(match[1], 10, 64) // ten digits
	pair, err := readPair(path)
	return retiredPair{keyPair: pair, at: at}, err
}
