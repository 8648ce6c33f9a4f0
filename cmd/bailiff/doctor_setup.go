package main

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"bailiff/grammar"
	"bailiff/runtime/attest"
)

// examineHosting looks at the mode and, self-hosted, at the policy.
func (p *patient) examineHosting() {
	s := p.settings
	if s.observe() {
		p.add(doubt, "mode", "SVC_MODE is OBSERVE: what the policy denies is approved; unset it to enforce")
	}
	if s.hosted() {
		p.add(sound, "mode", "hosted: each key has its own policy, registration is open")
		return
	}
	p.add(sound, "mode", "self-hosted")
	boot, err := readBoot(s)
	if err != nil {
		advice := ""
		if s["SVC_OPERATOR_PUBLIC_KEY"] == "" {
			advice = " Doctor reads its own environment: run it with the service's. quickstart (make run) sets this by itself."
		}
		p.add(trouble, "policy", "%s%s", strings.TrimPrefix(err.Error(), "[Svc] "), advice)
		return
	}
	p.add(sound, "policy", "%s verifies, policyHash %s", s["WARRANTY_PATH"], boot.policy.Hash)
	src := grammar.NewSource(s["WARRANTY_PATH"], boot.text)
	if boot.policy.Refused != nil {
		p.add(doubt, "policy", "%s has errors by this release, which the next lines name: it stays in force where it was before, and starts nowhere else; mend it and sign it again", s["WARRANTY_PATH"])
	}
	for _, warning := range boot.policy.Warnings {
		p.add(doubt, "policy", "%s", strings.TrimSpace(src.Render(warning)))
	}
	p.seekOperatorKey()
}

// seekOperatorKey warns of an operator's private key beside the policy: who has the machine could sign a policy.
func (p *patient) seekOperatorKey() {
	names, _ := filepath.Glob(filepath.Join(filepath.Dir(p.settings["WARRANTY_PATH"]), "*.key"))
	for _, name := range names {
		private, err := attest.ReadOperatorKey(name)
		if err == nil && attest.FormatOperatorKey(private.Public().(ed25519.PublicKey)) == p.settings["SVC_OPERATOR_PUBLIC_KEY"] {
			p.add(doubt, "operator", "%s is the operator's private key; keep it on no machine that runs the service", name)
		}
	}
}

// examineData looks at who can get at what is kept.
func (p *patient) examineData() {
	dir := p.settings["SVC_DATA_DIR"]
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !isMissing(dir):
		p.add(trouble, "data", "%s is a link to what is not there; make that, or mount it", dir)
		return
	case errors.Is(err, fs.ErrNotExist):
		p.add(doubt, "data", "%s is not there; the first start makes it, or set SVC_DATA_DIR to where the data is", dir)
		return
	case err != nil:
		p.add(trouble, "data", "%v", err)
		return
	case !info.IsDir():
		p.add(trouble, "data", "%s is no folder; set SVC_DATA_DIR to one", dir)
		return
	}
	before := len(p.findings)
	p.examineFolder(dir)
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			p.add(trouble, "data", "%v; run doctor as the service's user", err)
			return fs.SkipDir
		}
		return p.examineEntry(path, entry)
	})
	if before == len(p.findings) {
		p.add(sound, "data", "%s, yours alone", dir)
	}
}

// examineFolder looks at the data folder itself.
func (p *patient) examineFolder(dir string) {
	info, err := os.Stat(dir)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		p.add(trouble, "data", "%s has mode %04o, open to others; run chmod 700 %s", dir, info.Mode().Perm(), dir)
	}
	if err := syscall.Access(dir, 0x2|0x1); err != nil {
		p.add(trouble, "data", "%s can't be written to: %v; run doctor and the service as its owner", dir, err)
	}
}

// maxComplaints is how many files with wrong permissions are named.
const maxComplaints = 10

// examineEntry looks at one file or folder below the data folder.
func (p *patient) examineEntry(path string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return nil // gone meanwhile: the service works
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	switch {
	case known && int(owner.Uid) != os.Geteuid():
		p.add(trouble, "data", "%s belongs to the user %d, and this is %d; run chown", path, owner.Uid, os.Geteuid())
	case info.Mode().Perm()&0o022 != 0 && info.Mode().Type() != fs.ModeSymlink:
		p.add(trouble, "data", "%s has mode %04o, writable by others; run chmod go-rwx %s", path, info.Mode().Perm(), path)
	case filepath.Base(path) == "api-key" && info.Mode().Perm()&0o077 != 0:
		p.add(trouble, "data", "%s holds an API key and has mode %04o; run chmod 600 %s", path, info.Mode().Perm(), path)
	default:
		return nil
	}
	if len(p.findings) > maxComplaints {
		return fs.SkipAll
	}
	return nil
}

// examineKeys looks at the signing keys, and makes none.
func (p *patient) examineKeys() {
	s := p.settings
	if _, err := os.Stat(s.signingKeyPath()); s["SVC_SIGNING_KEY_FILE"] == "" && errors.Is(err, fs.ErrNotExist) {
		if p.running {
			p.add(trouble, "keys", "the service runs and %s is gone; restore it, or its attestations can't be issued after the next start", s.signingKeyPath())
			return
		}
		p.add(doubt, "keys", "there are no signing keys in %s; the first start makes them", s["SVC_KEY_DIR"])
		return
	}
	signer, err := existingSigner(s)
	if err != nil {
		p.add(trouble, "keys", "%v", err)
		return
	}
	p.add(sound, "keys", "signing keys %s and %s", signer.KeyID(), signer.PQCKeyID())
}

// examineAddresses looks at what the service listens on.
func (p *patient) examineAddresses() {
	s := p.settings
	if err := checkSocketPath(s.adminSocket()); err != nil {
		p.add(trouble, "socket", "%v", err)
	} else if p.running {
		p.add(sound, "socket", "a service answers on %s", s.adminSocket())
	} else if _, err := os.Lstat(s.adminSocket()); err == nil {
		p.add(sound, "socket", "%s is left over; the next start replaces it", s.adminSocket())
	}
	p.examineSocket(s["SVC_LISTEN_UNIX"])
	for _, name := range []string{"SVC_LISTEN", "SVC_INTERNAL_LISTEN", "SVC_ADMIN_LISTEN", "SVC_PPROF_LISTEN", "SVC_CONSOLE_LISTEN"} { // as the service does
		if s[name] == "" || s[name] == "off" {
			continue
		}
		if listener := p.examineAddress(name, s[name]); listener != nil {
			defer listener.Close() // no sooner: two settings may name one address
		}
	}
	if host, _, _ := net.SplitHostPort(s["SVC_ADMIN_LISTEN"]); s["SVC_ADMIN_LISTEN"] != "off" && !loopback(host) {
		p.add(doubt, "addresses", "SVC_ADMIN_LISTEN is %s: metrics are open to the network, and ask for no key; let only your monitoring reach it", s["SVC_ADMIN_LISTEN"])
	}
	if host, _, _ := net.SplitHostPort(s["SVC_PPROF_LISTEN"]); s["SVC_PPROF_LISTEN"] != "off" && !loopback(host) {
		p.add(doubt, "addresses", "SVC_PPROF_LISTEN is %s: profiles show what is in memory, API keys included, to everyone who reaches it; use 127.0.0.1", s["SVC_PPROF_LISTEN"])
	}
	if host, _, _ := net.SplitHostPort(s["SVC_LISTEN"]); !loopback(host) {
		p.add(doubt, "addresses", "SVC_LISTEN is %s: API keys travel in the open unless something in front speaks TLS", s["SVC_LISTEN"])
	}
	p.examineFiles()
}

// examineSocket looks at the API's socket, if there is to be one.
func (p *patient) examineSocket(path string) {
	if path == "" {
		return
	}
	connection, dialed := net.Dial("unix", path)
	if dialed == nil {
		connection.Close()
	}
	_, missing := os.Stat(filepath.Dir(path))
	switch err := checkSocketPath(path); {
	case err != nil:
		p.add(trouble, "socket", "SVC_LISTEN_UNIX: %v", err)
	case missing != nil:
		p.add(trouble, "socket", "SVC_LISTEN_UNIX: %v; make the folder", missing)
	case p.running && dialed != nil:
		p.add(doubt, "socket", "nothing answers on %s (SVC_LISTEN_UNIX), though a service runs: %v", path, dialed)
	case p.running:
		p.add(sound, "socket", "something answers on %s (SVC_LISTEN_UNIX)", path)
	case dialed == nil:
		p.add(trouble, "socket", "another process listens on %s (SVC_LISTEN_UNIX); stop it, or choose another path", path)
	default:
		p.add(sound, "socket", "%s is free (SVC_LISTEN_UNIX)", path)
	}
}

// examineAddress tries whether an address is free, and returns what listens there then, or, where the service runs,
// whether it is in use.
func (p *patient) examineAddress(name, address string) net.Listener {
	if p.running {
		connection, err := net.DialTimeout("tcp", dialable(address), clientTimeout)
		if err != nil {
			p.add(doubt, "addresses", "nothing answers on %s (%s), though a service runs; it was started with another setting", address, name)
			return nil
		}
		connection.Close()
		p.add(sound, "addresses", "something answers on %s (%s)", address, name)
		return nil
	}
	listener, err := net.Listen("tcp", address)
	switch {
	case err == nil:
		p.add(sound, "addresses", "%s is free (%s)", address, name)
		return listener
	case name == "SVC_ADMIN_LISTEN" && doesWithout(address, err):
		p.add(doubt, "addresses", "%s: %v; no metrics are served then: stop what has it, or set another, or off", name, err)
	default:
		p.add(trouble, "addresses", "%s: %v; stop what has it, or set another", name, err)
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
func (p *patient) examineFiles() {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil && limit.Max < fewFiles {
		p.add(doubt, "files", "at most %d files and connections may be open; raise it (ulimit -n, LimitNOFILE) to some ten thousand", limit.Max)
	}
}

// examineCertificates looks at the files of the internal endpoint, either side of it, and at the trusted shims.
func (p *patient) examineCertificates() {
	for _, prefix := range []string{"SVC_INTERNAL", "SVC_MIRROR"} {
		if p.settings[prefix+"_CERT"] == "" {
			continue
		}
		config, err := mutualTLS(p.settings[prefix+"_CERT"], p.settings[prefix+"_KEY"], p.settings[prefix+"_CA"])
		if err != nil {
			p.add(trouble, "certificates", "%s_CERT, _KEY, _CA: %v", prefix, err)
			continue
		}
		leaf, now := config.Certificates[0].Leaf, p.clock()
		verdict, what := sound, fmt.Sprintf("%s_CERT is good until %s", prefix, leaf.NotAfter.Format("2006-01-02"))
		if now.After(leaf.NotAfter) || now.Before(leaf.NotBefore) {
			verdict, what = trouble, fmt.Sprintf("%s_CERT is good from %s to %s, not now; make another", prefix, leaf.NotBefore.Format("2006-01-02"), leaf.NotAfter.Format("2006-01-02"))
		} else if now.AddDate(0, 0, 30).After(leaf.NotAfter) {
			verdict, what = doubt, what+"; make another before then"
		}
		p.add(verdict, "certificates", "%s", what)
	}
	if _, err := readShims(p.settings); err != nil {
		p.add(trouble, "shims", "SVC_TRUSTED_SHIMS: %v", err)
	}
}
