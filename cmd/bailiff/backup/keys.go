package backup

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"bailiff/cmd/bailiff/cli"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/runtime/atomicfile"
)

// maxKeyBytes bounds a key file, and all of them together.
const maxKeyBytes = 1 << 20

// keyPath is the file of the signing keys.
func keyPath(s *cmdsettings.Settings) string {
	if s.SigningKeyFile != "" {
		return s.SigningKeyFile
	}
	return s.SigningKeyPath()
}

// readRecipients reads the recipients that keys are encrypted to.
func readRecipients(texts []string) (recipients []age.Recipient, err error) {
	for _, text := range texts {
		recipient, err := age.ParseRecipients(strings.NewReader(text))
		if err != nil {
			return nil, cli.Usage("--with-keys %.80q is not an age recipient; give the one that age-keygen prints, age1…", text)
		}
		recipients = append(recipients, recipient...)
	}
	return recipients, nil
}

// encryptKeys writes the signing keys, those that are retired as well, as a tar file that is encrypted.
func encryptKeys(s *cmdsettings.Settings, path string, recipients []age.Recipient) error {
	names := []string{keyPath(s)}
	if s.SigningKeyFile == "" {
		retired, err := filepath.Glob(filepath.Join(s.KeyDir, "retired-*.pem"))
		if err != nil {
			return err
		}
		names = append(names, retired...)
	}
	var sealed bytes.Buffer
	encrypted, err := age.Encrypt(&sealed, recipients...)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(encrypted)
	for _, name := range names {
		text, err := cli.ReadFile(name, maxKeyBytes)
		if err != nil {
			return cli.Fail("the signing keys: %v", err)
		}
		err = archive.WriteHeader(&tar.Header{Name: filepath.Base(name), Mode: 0o600, Size: int64(len(text))})
		if err == nil {
			_, err = archive.Write(text)
		}
		if err != nil {
			return err
		}
	}
	if err := errors.Join(archive.Close(), encrypted.Close()); err != nil {
		return err
	}
	return atomicfile.Create(path, sealed.Bytes())
}

// decryptKeys puts the signing keys of a backup where the service reads them. It replaces none.
func decryptKeys(s *cmdsettings.Settings, path, identityFile string) error {
	identities, err := readIdentities(identityFile)
	if err != nil {
		return err
	}
	sealed, err := cli.ReadFile(path, 2*maxKeyBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return cli.Fail("the backup has no signing keys (%s): it was made without --with-keys; leave --identity out, and put the key file back yourself", keysFile)
	}
	if err != nil {
		return cli.Hidden(err)
	}
	plain, err := age.Decrypt(bytes.NewReader(sealed), identities...)
	if err != nil {
		return cli.Fail("%s can't be decrypted with %s: %v", path, identityFile, err)
	}
	if err := os.MkdirAll(filepath.Dir(keyPath(s)), 0o700); err != nil {
		return err
	}
	archive := tar.NewReader(io.LimitReader(plain, 2*maxKeyBytes))
	for first := true; ; first = false {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return cli.Fail("%s: %v", path, err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			return cli.Fail("%s: %v", path, err)
		}
		target := keyPath(s)
		if !first {
			target = filepath.Join(filepath.Dir(target), filepath.Base(header.Name))
		}
		if err := putKey(target, text); err != nil {
			return err
		}
	}
}

// putKey writes a key file, unless it is there with that content.
func putKey(target string, text []byte) error {
	if there, err := os.ReadFile(target); err == nil && bytes.Equal(there, text) {
		return nil
	}
	if err := atomicfile.Create(target, text); err != nil {
		return fmt.Errorf("%s: %w; move it away, or leave --identity out to keep it", target, err)
	}
	return nil
}

// readIdentities reads the file of an age identity.
func readIdentities(path string) ([]age.Identity, error) {
	text, err := cli.ReadFile(path, maxKeyBytes)
	if err != nil {
		return nil, cli.Hidden(err)
	}
	identities, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil {
		return nil, cli.Fail("%s is not a file of age identities, as age-keygen makes it", path) // its error may show a part of a key
	}
	return identities, nil
}
