package settings

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/system"
)

// A StoreURL is the address of a PostgreSQL database, with the password of a role.
type StoreURL string

// UnmarshalText reads an address on which nothing travels unprotected.
func (u *StoreURL) UnmarshalText(text []byte) error {
	*u = StoreURL(text)
	return pgledger.CheckURL(string(text))
}

// A Lease is how long an instance may be silent.
type Lease time.Duration

// minLease and maxLease bound a Lease. A shorter one would be over before a busy machine has answered.
const (
	minLease = time.Second
	maxLease = time.Minute
)

// UnmarshalText reads a duration.
func (l *Lease) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d < minLease || d > maxLease {
		return fmt.Errorf("it has to be a duration from %s to %s, such as 2s", minLease, maxLease)
	}
	*l = Lease(d)
	return nil
}

// maxInstance bounds an InstanceName, in bytes.
const maxInstance = 64

// An InstanceName is what other instances and the log call an instance.
type InstanceName string

// UnmarshalText reads printable ASCII.
func (n *InstanceName) UnmarshalText(text []byte) error {
	*n = InstanceName(text)
	if len(text) > maxInstance || strings.ContainsFunc(string(text), func(c rune) bool { return c <= ' ' || c > '~' }) {
		return fmt.Errorf("it has to be at most %d characters of printable ASCII without spaces", maxInstance)
	}
	return nil
}

// InstanceName returns SVC_INSTANCE, or the machine's host name.
func (s *Settings) InstanceName() (string, error) {
	if s.Instance != "" {
		return string(s.Instance), nil
	}
	name, err := os.Hostname()
	if err == nil {
		err = new(InstanceName).UnmarshalText([]byte(name))
	}
	if err != nil || name == "" {
		return "", fmt.Errorf("the machine's host name %q can't name this instance: %w; set SVC_INSTANCE", name, err)
	}
	return name, nil
}

// StoreOptions returns how the database of SVC_STORE is used.
func (s *Settings) StoreOptions(calls system.Calls) (pgledger.Options, error) {
	name, err := s.InstanceName()
	return pgledger.Options{
		URL: string(s.Store), Name: name, Lease: time.Duration(s.StoreLease), Trust: s.StoreSync == "trust", Environment: s.Environment, Calls: calls,
	}, err
}

// PeerDomain ends the names in the certificates of the instances of a store: an instance is NAME.ID.bailiff.internal.
func PeerDomain(store string) string { return "." + store + ".bailiff.internal" }

// fitsPeers refuses settings of passing requests on that are not whole, or that would let others in.
func (s *Settings) fitsPeers() error {
	err := whole([]string{"SVC_PEER_CERT", "SVC_PEER_KEY", "SVC_PEER_CA"}, s.PeerCert, s.PeerKey, s.PeerCA)
	switch {
	case s.PeerListen == "" && s.PeerAddress == "" && s.PeerCert == "":
		return err
	case err != nil:
		return err
	case s.PeerListen == "":
		return errors.New("SVC_PEER_ADDRESS or SVC_PEER_CERT is set, and SVC_PEER_LISTEN is not; set it, or none of them")
	case s.Store == "":
		return errors.New("SVC_PEER_LISTEN is set, and SVC_STORE is not; instances without a common store pass nothing on: unset it")
	case s.PeerCert == "" && !(s.PeerListen.Local() && (s.PeerAddress == "" || s.PeerAddress.Local())):
		return fmt.Errorf("SVC_PEER_LISTEN is %q, and API keys would travel without TLS; set SVC_PEER_CERT, SVC_PEER_KEY and SVC_PEER_CA", string(s.PeerListen))
	case s.PeerAddress == "" && unspecified(s.PeerListen):
		return fmt.Errorf("SVC_PEER_LISTEN is %q, which does not say where other instances reach this one; set SVC_PEER_ADDRESS", string(s.PeerListen))
	}
	name, err := s.InstanceName()
	if err == nil && s.PeerCert != "" && !HostName(name) {
		return fmt.Errorf("the name of this instance is %q, and certificates name hosts; set SVC_INSTANCE to letters, digits, hyphens and dots", name)
	}
	return err
}

// unspecified reports whether an address names no host.
func unspecified(a Address) bool {
	host, _, err := net.SplitHostPort(string(a))
	ip := net.ParseIP(host)
	return err == nil && (host == "" || ip != nil && ip.IsUnspecified())
}

// HostName reports whether a name may be a part of a host's.
func HostName(name string) bool {
	for _, label := range strings.Split(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "-") != label {
			return false
		}
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '.')
	})
}

// WithoutStore says that a command works on the data folder alone, where SVC_STORE is set.
func (s *Settings) WithoutStore(command string) error {
	if s.Store == "" {
		return nil
	}
	return fmt.Errorf("%s works on SVC_DATA_DIR alone, and SVC_STORE is set: the record is in the database; unset SVC_STORE to use the data folder (docs/many-machines.md)", command)
}
