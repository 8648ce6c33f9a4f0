package serve

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/runtime/attest"
)

// expiresSoon is how long before the end of a certificate the log and doctor warn of it.
const expiresSoon = 30 * 24 * time.Hour

// A pair is the set-up of one side of TLS, read from the files that settings name by a prefix: SVC_TLS names SVC_TLS_CERT and the
// others.
type pair struct {
	Prefix string
	Config *tls.Config
}

// Leaf is the certificate that the side shows.
func (p pair) Leaf() *x509.Certificate { return p.Config.Certificates[0].Leaf }

// Outlook says until when the certificate is good, and whether it has to be renewed: soon, or now.
func (p pair) Outlook(now time.Time) (text string, soon, bad bool) {
	leaf := p.Leaf()
	from, until := leaf.NotBefore.Format(time.DateOnly), leaf.NotAfter.Format(time.DateOnly)
	switch {
	case now.After(leaf.NotAfter) || now.Before(leaf.NotBefore):
		return fmt.Sprintf("%s_CERT is good from %s to %s, not now; make another", p.Prefix, from, until), true, true
	case now.Add(expiresSoon).After(leaf.NotAfter):
		return fmt.Sprintf("%s_CERT is good until %s; make another before then", p.Prefix, until), true, false
	}
	return fmt.Sprintf("%s_CERT is good until %s", p.Prefix, until), false, false
}

// ReadPairs reads the certificates that settings name, each with its key: those of the API, of the internal endpoint, of the
// mirror and of this instance. It returns those that are good, and an error for each of the others.
func ReadPairs(s *cmdsettings.Settings) (pairs []pair, faults []error) {
	for _, side := range []struct {
		prefix, cert, key, authorities string
		mutual, among                  bool
	}{
		{"SVC_TLS", s.TLSCert, s.TLSKey, "", false, false},
		{"SVC_INTERNAL", s.InternalCert, s.InternalKey, s.InternalCA, true, false},
		{"SVC_MIRROR", s.MirrorCert, s.MirrorKey, s.MirrorCA, true, false},
		{"SVC_PEER", s.PeerCert, s.PeerKey, s.PeerCA, true, true},
	} {
		if side.cert == "" {
			continue
		}
		config, err := readPair(side.cert, side.key)
		names := side.prefix + "_CERT, _KEY"
		if side.mutual {
			names += ", _CA"
			if err == nil {
				err = trust(config, side.authorities)
			}
			if err == nil && side.among {
				err = amongPeers(config, side.authorities)
			}
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", names, err))
			continue
		}
		pairs = append(pairs, pair{side.prefix, config})
	}
	return pairs, faults
}

// readPair reads a certificate and its private key, which have to belong together. The API speaks HTTP/1.1 alone.
func readPair(certFile, keyFile string) (*tls.Config, error) {
	if info, err := os.Stat(keyFile); err == nil && !attest.Private(info) {
		return nil, fmt.Errorf("%s has mode %04o, open to others than its owner; run chmod 600 %s", keyFile, info.Mode().Perm(), keyFile)
	}
	certificate, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}, NextProtos: []string{"http/1.1"}}, nil
}

// trust has both sides show certificates, and take no others than those of the authorities in a file.
func trust(config *tls.Config, caFile string) error {
	text, err := os.ReadFile(caFile)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return fmt.Errorf("%s holds no certificates in PEM", caFile)
	}
	config.MinVersion, config.RootCAs, config.ClientCAs, config.ClientAuth = tls.VersionTLS13, pool, pool, tls.RequireAndVerifyClientCert
	return nil
}

// amongPeers refuses a certificate that the other sides would not take, where all have the same authorities: as that of a server, and that of a
// client. Whether they are good now is told by its outlook, and stops no start.
func amongPeers(config *tls.Config, caFile string) error {
	chain, intermediates := config.Certificates[0], x509.NewCertPool()
	for _, der := range chain.Certificate[1:] {
		if between, err := x509.ParseCertificate(der); err == nil {
			intermediates.AddCert(between)
		}
	}
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		var err error
		for _, at := range []time.Time{chain.Leaf.NotAfter, chain.Leaf.NotBefore, {}} { // the zero time is now
			if _, err = chain.Leaf.Verify(x509.VerifyOptions{Roots: config.RootCAs, Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{usage}, CurrentTime: at}); err == nil {
				break
			}
		}
		if err != nil {
			return fmt.Errorf("the other instances would refuse this certificate: %w; have an authority in %s sign one for servers and clients", err, caFile)
		}
	}
	return nil
}

// certificates are those that the sides of TLS show. Each may be replaced while the service runs.
type certificates struct{ api, internal, mirror, peer atomic.Pointer[tls.Config] }

// byPrefix are the places of the certificates, by the prefix of their settings.
func (c *certificates) byPrefix() map[string]*atomic.Pointer[tls.Config] {
	return map[string]*atomic.Pointer[tls.Config]{"SVC_TLS": &c.api, "SVC_INTERNAL": &c.internal, "SVC_MIRROR": &c.mirror, "SVC_PEER": &c.peer}
}

// use puts pairs in force: connections that begin from now on see them.
func (c *certificates) use(pairs []pair) {
	places := c.byPrefix()
	for _, one := range pairs {
		places[one.Prefix].Store(one.Config)
	}
}

// showing is the set-up of a listener that shows the certificate in force.
func showing(current *atomic.Pointer[tls.Config]) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return current.Load(), nil }}
}
