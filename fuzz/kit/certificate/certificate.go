// Package certificate makes certificates for tests of TLS.
package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Make makes an authority in a folder, and certificates by it: the files AUTHORITY.pem, and for each name NAME.pem and NAME.key.
// The certificates are good for their names and for 127.0.0.1, on either side of a connection.
func Make(dir, authority string, names ...string) error {
	return MakeFor(dir, authority, time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0), names...)
}

// MakeFor is Make of an authority and certificates that are good from a time to another one.
func MakeFor(dir, authority string, from, to time.Time, names ...string) error {
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: authority}, NotBefore: from, NotAfter: to,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	faults := []error{issue(dir, authority, root, rootKey, root, rootKey)}
	for i, name := range names {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return err
		}
		faults = append(faults, issue(dir, name, &x509.Certificate{
			SerialNumber: big.NewInt(int64(2 + i)), Subject: pkix.Name{CommonName: name}, NotBefore: root.NotBefore, NotAfter: root.NotAfter,
			DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}, key, root, rootKey))
	}
	return errors.Join(faults...)
}

// issue writes a certificate by the authority, and its key.
func issue(dir, name string, template *x509.Certificate, key *ecdsa.PrivateKey, root *x509.Certificate, rootKey *ecdsa.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, template, root, &key.PublicKey, rootKey)
	if err != nil {
		return err
	}
	text, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, name)
	return errors.Join(
		os.WriteFile(path+".pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(path+".key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}), 0o600),
	)
}
