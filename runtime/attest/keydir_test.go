package attest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"
)

func loadOrCreate(t *testing.T, dir, seed string) *Signer {
	t.Helper()
	s, err := LoadOrCreate(dir, repeatable(seed))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestKeysAreMadeOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "keys")
	first := loadOrCreate(t, dir, "first")
	checkMode(t, dir, 0o700)
	path := filepath.Join(dir, KeyFileName)
	checkMode(t, path, 0o600)
	again := loadOrCreate(t, dir, "second")
	named, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Signer{again, named} {
		if s.KeyID() != first.KeyID() || s.PQCKeyID() != first.PQCKeyID() {
			t.Error("another pair than the first start made")
		}
		if _, err := testVerifier(t, first).Verify(issue(t, s, evmClaims()), issuedAt); err != nil {
			t.Error(err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the folder holds %v, want the key file alone", entries)
	}
	if other := loadOrCreate(t, t.TempDir(), "second"); other.KeyID() == first.KeyID() {
		t.Error("the keys do not depend on the random bytes")
	}
}

func checkMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != want {
		t.Errorf("%s has mode %04o, want %04o", path, info.Mode().Perm(), want)
	}
}

// Nothing but the file system is shared between these starts, as between processes.
func TestStartsAtOnce(t *testing.T) {
	dir := t.TempDir()
	ids := make([]string, 16)
	begin := make(chan struct{})
	var group sync.WaitGroup
	for i := range ids {
		group.Go(func() {
			<-begin
			s, err := LoadOrCreate(dir, repeatable(fmt.Sprint(i)))
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = s.KeyID() + s.PQCKeyID()
		})
	}
	close(begin)
	group.Wait()
	for i, id := range ids {
		if id != ids[0] {
			t.Errorf("start %d has keys of its own", i)
		}
	}
}

// The one that comes second, after both saw that there are no keys, takes the first one's.
func TestSecondStartLoses(t *testing.T) {
	path := filepath.Join(t.TempDir(), KeyFileName)
	first, err := createPair(path, repeatable("first"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := createPair(path, repeatable("second"))
	if err != nil {
		t.Fatal(err)
	}
	if !second.ed25519.Equal(first.ed25519) || second.mldsa.seed != first.mldsa.seed {
		t.Error("the second start replaced the keys of the first")
	}
}

func TestKeyFilesRefused(t *testing.T) {
	dir := t.TempDir()
	loadOrCreate(t, dir, "keys")
	good, err := os.ReadFile(filepath.Join(dir, KeyFileName))
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.SplitAfter(string(good), "-----END PRIVATE KEY-----\n")
	for _, test := range []struct {
		name, text string
		mode       fs.FileMode
		want       string // part of the error
	}{
		{"group can read", string(good), 0o640, "chmod 600"},
		{"others can write", string(good), 0o602, "chmod 600"},
		{"others can execute", string(good), 0o601, "chmod 600"},
		{"empty", "", 0o600, "holds 0 PEM blocks, not 2"},
		{"Ed25519 alone", blocks[0], 0o600, "holds 1 PEM blocks, not 2"},
		{"ML-DSA-65 first", blocks[1] + blocks[0], 0o600, "first block is not an Ed25519 key"},
		{"Ed25519 twice", blocks[0] + blocks[0], 0o600, "second block is not an ML-DSA-65 key"},
		{"second block short", blocks[0] + string(pemBlock([]byte{0x30, 0})), 0o600, "second block is not an ML-DSA-65 key"},
		{"three blocks", string(good) + blocks[0], 0o600, "holds 3 PEM blocks"},
		{"cut off", string(good[:len(good)-30]), 0o600, "damaged"},
		{"text around", "# keys\n" + string(good), 0o600, "outside of its PEM blocks"},
		{"another label", strings.ReplaceAll(string(good), "PRIVATE", "PUBLIC"), 0o600, `PEM block "PUBLIC KEY"`},
		{"too large", string(good) + strings.Repeat("\n", maxKeyFileBytes), 0o600, "more than 65536 bytes"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, KeyFileName)
		writeFile(t, path, test.text, test.mode)
		_, err := LoadOrCreate(dir, repeatable("new"))
		if !errors.Is(err, errKeyFile) || !strings.Contains(fmt.Sprint(err), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
		if after, _ := os.ReadFile(path); string(after) != test.text {
			t.Errorf("%s: the file was changed", test.name)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.pem")); !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, errKeyFile) {
		t.Errorf("a missing named file: got %v", err)
	}
	if _, err := readRetired(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, errKeyFile) {
		t.Errorf("a missing folder: got %v", err)
	}
}

// A statFile is what a file system says of a file.
type statFile struct {
	fs.FileInfo
	mode fs.FileMode
	user uint32
}

func (f statFile) Mode() fs.FileMode { return f.mode }
func (f statFile) Sys() any          { return &syscall.Stat_t{Uid: f.user} }

// TestPrivate: a file of root's that its group can read is private to other users alone, and nothing else is let through.
func TestPrivate(t *testing.T) {
	for mode := range fs.FileMode(0o1000) {
		for _, owner := range []uint32{0, 65532} {
			for _, user := range []int{0, 65532} {
				want := mode == mode&0o700 || mode == mode&0o740 && owner == 0 && user != 0
				if got := private(statFile{mode: mode, user: owner}, user); got != want {
					t.Errorf("mode %04o of user %d, read by %d: %v", mode, owner, user, got)
				}
			}
		}
	}
}

func writeFile(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // the umask does not apply
		t.Fatal(err)
	}
}

func TestKeyFolderRefused(t *testing.T) {
	open := t.TempDir()
	if err := os.Chmod(open, 0o770); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	writeFile(t, file, "", 0o600)
	occupied := t.TempDir()
	if err := os.Mkdir(filepath.Join(occupied, KeyFileName), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"chmod 700": open, "not a directory": file, "not a regular file": occupied} {
		if _, err := LoadOrCreate(dir, repeatable("k")); !errors.Is(err, errKeyFile) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Without randomness no keys are made, and no file is left behind.
func TestNoRandomness(t *testing.T) {
	dir := t.TempDir()
	broken := errors.New("no entropy")
	half := bytes.NewReader(make([]byte, 40))
	if _, err := LoadOrCreate(dir, iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, err := LoadOrCreate(dir, half); err == nil {
		t.Error("keys from 40 random bytes")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// A pair that was moved aside no longer signs, is listed behind the new one for 24 hours, and then is not.
func TestRetiredKeys(t *testing.T) {
	dir := t.TempDir()
	old := loadOrCreate(t, dir, "old")
	token := issue(t, old, evmClaims())
	retired := filepath.Join(dir, fmt.Sprintf("retired-%d.pem", issuedAt.Unix()))
	if err := os.Rename(filepath.Join(dir, KeyFileName), retired); err != nil {
		t.Fatal(err)
	}
	s := loadOrCreate(t, dir, "new")
	if s.KeyID() == old.KeyID() || s.PQCKeyID() == old.PQCKeyID() {
		t.Fatal("the retired pair still signs")
	}
	last := issuedAt.Add(24*time.Hour - time.Second)
	for _, now := range []time.Time{issuedAt, last} {
		checkListed(t, string(s.JWKS(now)), s.KeyID(), old.KeyID())
		checkListed(t, string(s.PQCKeys(now)), s.PQCKeyID(), old.PQCKeyID())
	}
	checkListed(t, string(s.JWKS(last.Add(time.Second))), s.KeyID())
	checkListed(t, string(s.PQCKeys(last.Add(time.Second))), s.PQCKeyID())

	if !s.Lists(s.KeyID(), s.PQCKeyID()) || !s.Lists(old.KeyID(), old.PQCKeyID()) || s.Lists(s.KeyID(), old.PQCKeyID()) {
		t.Error("the signer lists other pairs than its own and the retired one")
	}
	ids, err := KeyIDs(s.JWKS(issuedAt), s.PQCKeys(issuedAt))
	if want := []string{"Ed25519 " + s.KeyID(), "Ed25519 " + old.KeyID(), "ML-DSA-65 " + s.PQCKeyID(), "ML-DSA-65 " + old.PQCKeyID()}; err != nil || !slices.Equal(ids, want) {
		t.Errorf("the documents have the keys %q, %v; want %q", ids, err, want)
	}

	v, err := s.Verifier(issuer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Verify(token, issuedAt); err != nil {
		t.Errorf("a token of the retired pair: %v", err)
	}
	if _, err := v.Verify(token, last.Add(time.Second)); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("a day later: got %v, want ErrUnknownKey", err)
	}
	mixed := evmClaims()
	mixed.IssuedAt = last.Add(time.Second).Unix()
	token = forge(s, headerOf(s), payloadOf(t, old, canonicalOf(mixed), pqcContext))
	if _, err := v.Verify(token, last); err != nil {
		t.Errorf("a retired ML-DSA-65 key in its last second: %v", err)
	}
	if _, err := v.Verify(token, last.Add(time.Second)); !errors.Is(err, ErrPQC) {
		t.Errorf("a retired ML-DSA-65 key a day later: got %v, want ErrPQC", err)
	}
}

func checkListed(t *testing.T, document string, kids ...string) {
	t.Helper()
	from := 0
	for _, kid := range kids {
		at := strings.Index(document[from:], `"`+kid+`"`)
		if at < 0 {
			t.Errorf("key %s is missing, or out of order, in %.200s", kid, document)
			return
		}
		from += at
	}
	if n := strings.Count(document, `"kid"`); n != len(kids) {
		t.Errorf("%d keys are listed, want %d", n, len(kids))
	}
}

func TestRetiredFilesRefused(t *testing.T) {
	for _, test := range []struct{ name, want string }{
		{"retired-1795000000000.pem", "not named"},
		{"retired-yesterday.pem", "not named"},
		{"retired-1795000000.pem.bak", "not named"},
		{"retired-1795000000.pem", "moved, not copied"},
	} {
		dir := t.TempDir()
		loadOrCreate(t, dir, "keys")
		text, err := os.ReadFile(filepath.Join(dir, KeyFileName))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, test.name), string(text), 0o600)
		if _, err := LoadOrCreate(dir, repeatable("k")); !errors.Is(err, errKeyFile) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

// TestRetiredHalf: a retired pair may have neither key of the current one.
func TestRetiredHalf(t *testing.T) {
	dir := t.TempDir()
	current, other := loadOrCreate(t, dir, "keys"), signerFrom(t, "other")
	for name, pair := range map[string]keyPair{
		current.KeyID():    {ed25519: current.pair.ed25519, mldsa: other.pair.mldsa},
		current.PQCKeyID(): {ed25519: other.pair.ed25519, mldsa: current.pair.mldsa},
	} {
		writeFile(t, filepath.Join(dir, "retired-1795000000.pem"), string(pair.encodePEM()), 0o600)
		if _, err := LoadOrCreate(dir, repeatable("k")); !errors.Is(err, errKeyFile) || !strings.Contains(err.Error(), "key "+name+" is listed twice") {
			t.Errorf("got %v, want that %s is listed twice", err, name)
		}
	}
}

// TestUnreadableKeyFile: a file that opens and cannot be read has no keys. The first page of a process's memory is such a file.
func TestUnreadableKeyFile(t *testing.T) {
	const path = "/proc/self/mem"
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	if _, err := Load(path); !errors.Is(err, errKeyFile) || !errors.Is(err, syscall.EIO) {
		t.Errorf("got %v", err)
	}
}
