package doctor

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/client"
	"bailiff/cmd/bailiff/serve"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/grammar"
	"bailiff/runtime/attest"
	"bailiff/runtime/retention"
)

// examineHosting looks at the mode and, self-hosted, at the policy.
func (p *Patient) examineHosting() {
	s := p.settings
	if s.Observe() {
		p.Add(Doubt, "mode", "SVC_MODE is OBSERVE: what the policy denies is approved; unset it to enforce")
	}
	if s.Hosted {
		p.Add(Sound, "mode", "hosted: each key has its own policy, registration is open")
		return
	}
	p.Add(Sound, "mode", "self-hosted")
	boot, err := serve.ReadBoot(s)
	if err != nil {
		advice := ""
		if s.OperatorKey == "" {
			advice = " Doctor reads its own environment: run it with the service's. quickstart (make run) sets this by itself."
		}
		p.Add(Trouble, "policy", "%s%s", strings.TrimPrefix(err.Error(), "[Svc] "), advice)
		return
	}
	p.Add(Sound, "policy", "%s verifies, policyHash %s", s.WarrantyPath, boot.Policy.Hash)
	src := grammar.NewSource(s.WarrantyPath, boot.Text)
	if boot.Policy.Refused != nil {
		p.Add(Doubt, "policy", "%s has errors by this release, which the next lines name: it stays in force where it was before, and starts nowhere else; mend it and sign it again", s.WarrantyPath)
	}
	for _, warning := range boot.Policy.Warnings {
		p.Add(Doubt, "policy", "%s", strings.TrimSpace(src.Render(warning)))
	}
	p.seekOperatorKey()
}

// seekOperatorKey warns of an operator's private key beside the policy: who has the machine could sign a policy.
func (p *Patient) seekOperatorKey() {
	names, _ := filepath.Glob(filepath.Join(filepath.Dir(p.settings.WarrantyPath), "*.key"))
	for _, name := range names {
		private, err := attest.ReadOperatorKey(name)
		if err == nil && attest.FormatOperatorKey(private.Public().(ed25519.PublicKey)) == p.settings.OperatorKey {
			p.Add(Doubt, "operator", "%s is the operator's private key; keep it on no machine that runs the service", name)
		}
	}
}

// examineHalt asks the service that runs whether it is frozen.
func (p *Patient) examineHalt(service client.Admin) {
	switch halt, err := service.HaltOf(context.Background(), ""); {
	case err != nil:
		p.Add(Doubt, "halt", "the service that runs does not say whether it is frozen: %v", err)
	case halt.Halted:
		p.Add(Doubt, "halt", "the service is frozen since %s (%s), and allows nothing; bailiff thaw lets it go on", halt.Since.Format(time.RFC3339), halt.Reason)
	}
}

// examineData looks at who can get at the data.
func (p *Patient) examineData() {
	dir := p.settings.DataDir
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !cli.IsMissing(dir):
		p.Add(Trouble, "data", "%s is a link whose target does not exist; make the target, or mount it", dir)
		return
	case errors.Is(err, fs.ErrNotExist):
		p.Add(Doubt, "data", "%s is not there; the first start makes it, or set SVC_DATA_DIR to where the data is", dir)
		return
	case err != nil:
		p.Add(Trouble, "data", "%v", err)
		return
	case !info.IsDir():
		p.Add(Trouble, "data", "%s is not a folder; set SVC_DATA_DIR to a folder", dir)
		return
	}
	before := len(p.Findings)
	if err := serve.CheckPlace(p.settings); err != nil {
		p.Add(Trouble, "data", "%v", err)
	}
	p.examineFolder(dir)
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			p.Add(Trouble, "data", "%v; run doctor as the service's user", err)
			return fs.SkipDir
		}
		return p.examineEntry(path, entry)
	})
	if before == len(p.Findings) {
		p.Add(Sound, "data", "%s, yours alone", dir)
	}
}

// examineRetention looks at the folder of exported events.
func (p *Patient) examineRetention() {
	s := p.settings
	if s.EventRetention == 0 {
		return
	}
	info, err := os.Stat(s.EventExport)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.Add(Doubt, "retention", "%s is not there (SVC_EVENT_EXPORT); the first export makes it, where the service may", s.EventExport)
		return
	case err != nil:
		p.Add(Trouble, "retention", "SVC_EVENT_EXPORT: %v", err)
		return
	case !info.IsDir():
		p.Add(Trouble, "retention", "%s is no folder (SVC_EVENT_EXPORT)", s.EventExport)
		return
	}
	if err := syscall.Access(s.EventExport, 0x2|0x1); err != nil {
		p.Add(Trouble, "retention", "%s can't be written to (SVC_EVENT_EXPORT): %v; events stay in the record until it can", s.EventExport, err)
		return
	}
	files, err := retention.Folder(s.EventExport)
	if err != nil {
		p.Add(Trouble, "retention", "SVC_EVENT_EXPORT: %v", err)
		return
	}
	p.Add(Sound, "retention", "events older than %s go to %s (exported files: %d)", s.EventRetention, s.EventExport, len(files))
}

// examineFolder looks at the data folder itself.
func (p *Patient) examineFolder(dir string) {
	info, err := os.Stat(dir)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		p.Add(Trouble, "data", "%s has mode %04o, open to others; run chmod 700 %s", dir, info.Mode().Perm(), dir)
	}
	if err := syscall.Access(dir, 0x2|0x1); err != nil {
		p.Add(Trouble, "data", "%s can't be written to: %v; run doctor and the service as its owner", dir, err)
	}
}

// maxComplaints is how many files with wrong permissions are named.
const maxComplaints = 10

// examineEntry looks at one file or folder below the data folder.
func (p *Patient) examineEntry(path string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return nil // gone meanwhile: the service works
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	switch {
	case known && int(owner.Uid) != os.Geteuid():
		p.Add(Trouble, "data", "%s belongs to the user %d, and this is %d; run chown", path, owner.Uid, os.Geteuid())
	case info.Mode().Perm()&0o022 != 0 && info.Mode().Type() != fs.ModeSymlink:
		p.Add(Trouble, "data", "%s has mode %04o, writable by others; run chmod go-rwx %s", path, info.Mode().Perm(), path)
	case filepath.Base(path) == "api-key" && info.Mode().Perm()&0o077 != 0:
		p.Add(Trouble, "data", "%s holds an API key and has mode %04o; run chmod 600 %s", path, info.Mode().Perm(), path)
	default:
		return nil
	}
	if len(p.Findings) > maxComplaints {
		return fs.SkipAll
	}
	return nil
}

// examineKeys looks at the signing keys, and makes none.
func (p *Patient) examineKeys() {
	s := p.settings
	if _, err := os.Stat(s.SigningKeyPath()); s.SigningKeyFile == "" && errors.Is(err, fs.ErrNotExist) {
		if p.running {
			p.Add(Trouble, "keys", "the service runs and %s is gone; restore it, or its attestations can't be issued after the next start", s.SigningKeyPath())
			return
		}
		p.Add(Doubt, "keys", "there are no signing keys in %s; the first start makes them", s.KeyDir)
		return
	}
	signer, err := client.ExistingSigner(s)
	if err != nil {
		p.Add(Trouble, "keys", "%v", err)
		return
	}
	p.Add(Sound, "keys", "signing keys %s and %s", signer.KeyID(), signer.PQCKeyID())
}

// examineAddresses looks at what the service listens on.
func (p *Patient) examineAddresses() {
	s := p.settings
	if err := serve.CheckSocketPath(s.AdminSocket()); err != nil {
		p.Add(Trouble, "socket", "%v", err)
	} else if p.running {
		p.Add(Sound, "socket", "a service answers on %s", s.AdminSocket())
	} else if _, err := os.Lstat(s.AdminSocket()); err == nil {
		p.Add(Sound, "socket", "%s is left over; the next start replaces it", s.AdminSocket())
	}
	defer p.examineFiles()
	p.judgeAddresses()
	if p.waits {
		p.Add(Sound, "addresses", "a service that waits, or starts, has the data folder %s; its addresses are not looked at", s.DataDir)
		return
	}
	p.examineSocket(string(s.ListenUnix))
	for _, row := range []struct { // as the service does
		name    string
		address cmdsettings.Address
	}{
		{"SVC_LISTEN", s.Listen}, {"SVC_INTERNAL_LISTEN", s.InternalListen}, {"SVC_ADMIN_LISTEN", s.AdminListen.Address},
		{"SVC_PPROF_LISTEN", s.PprofListen.Address}, {"SVC_CONSOLE_LISTEN", s.ConsoleListen.Address},
	} {
		if row.address == "" {
			continue
		}
		if listener := p.examineAddress(row.name, string(row.address)); listener != nil {
			defer listener.Close() // no sooner: two settings may name one address
		}
	}
}

// judgeAddresses adds the doubts about addresses, in use or not.
func (p *Patient) judgeAddresses() {
	s := p.settings
	if address := s.AdminListen.Address; address != "" && !address.Local() {
		p.Add(Doubt, "addresses", "SVC_ADMIN_LISTEN is %s: metrics are open to the network, and ask for no key; let only your monitoring reach it", address)
	}
	if address := s.PprofListen.Address; address != "" && !address.Local() {
		p.Add(Doubt, "addresses", "SVC_PPROF_LISTEN is %s: profiles show the memory of the service, API keys included, to everyone who can connect; use 127.0.0.1", address)
	}
	if !s.Listen.Local() && s.TLSCert == "" {
		p.Add(Doubt, "addresses", "SVC_LISTEN is %s: API keys travel in the open unless something in front speaks TLS; SVC_TLS_CERT and SVC_TLS_KEY set TLS up", s.Listen)
	}
}

// examineSocket looks at the API's socket, if there is to be one.
func (p *Patient) examineSocket(path string) {
	if path == "" {
		return
	}
	connection, dialed := net.Dial("unix", path)
	if dialed == nil {
		connection.Close()
	}
	_, missing := os.Stat(filepath.Dir(path))
	switch err := serve.CheckSocketPath(path); {
	case err != nil:
		p.Add(Trouble, "socket", "SVC_LISTEN_UNIX: %v", err)
	case missing != nil:
		p.Add(Trouble, "socket", "SVC_LISTEN_UNIX: %v; make the folder", missing)
	case p.running && dialed != nil:
		p.Add(Doubt, "socket", "nothing answers on %s (SVC_LISTEN_UNIX), though a service runs: %v", path, dialed)
	case p.running:
		p.Add(Sound, "socket", "something answers on %s (SVC_LISTEN_UNIX)", path)
	case dialed == nil:
		p.Add(Trouble, "socket", "another process listens on %s (SVC_LISTEN_UNIX); stop it, or choose another path", path)
	default:
		p.Add(Sound, "socket", "%s is free (SVC_LISTEN_UNIX)", path)
	}
}

// examineAddress tries whether an address is free, and returns what listens there then, or, where the service runs,
// whether it is in use.
func (p *Patient) examineAddress(name, address string) net.Listener {
	if p.running {
		connection, err := net.DialTimeout("tcp", dialable(address), client.ClientTimeout)
		if err != nil {
			p.Add(Doubt, "addresses", "nothing answers on %s (%s), though a service runs; it was started with another setting", address, name)
			return nil
		}
		connection.Close()
		p.Add(Sound, "addresses", "something answers on %s (%s)", address, name)
		return nil
	}
	listener, err := net.Listen("tcp", address)
	switch {
	case err == nil:
		p.Add(Sound, "addresses", "%s is free (%s)", address, name)
		return listener
	case name == "SVC_ADMIN_LISTEN" && serve.DoesWithout(address, err):
		p.Add(Doubt, "addresses", "%s: %v; the service would have no metrics: stop the program that uses the address, set another one, or set off", name, err)
	default:
		p.Add(Trouble, "addresses", "%s: %v; stop the program that uses the address, or set another one", name, err)
	}
	return nil
}

// dialable is an address to listen on as one to connect to.
func dialable(address string) string {
	host, port, _ := net.SplitHostPort(address)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

// fewFiles is how many open files are too few for a busy service.
const fewFiles = 4096

// examineFiles looks at how many files and connections may be open.
func (p *Patient) examineFiles() {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil && limit.Max < fewFiles {
		p.Add(Doubt, "files", "at most %d files and connections may be open; raise it (ulimit -n, LimitNOFILE) to some ten thousand", limit.Max)
	}
}

// examineCertificates looks at the files of TLS, and at the trusted shims.
func (p *Patient) examineCertificates() {
	pairs, faults := serve.ReadPairs(p.settings)
	for _, fault := range faults {
		p.Add(Trouble, "certificates", "%v", fault)
	}
	for _, pair := range pairs {
		what, soon, bad := pair.Outlook(p.Clock())
		verdict := Sound
		if bad {
			verdict = Trouble
		} else if soon {
			verdict = Doubt
		}
		p.Add(verdict, "certificates", "%s", what)
	}
	if _, err := serve.ReadShims(p.settings); err != nil {
		p.Add(Trouble, "shims", "SVC_TRUSTED_SHIMS: %v", err)
	}
}
