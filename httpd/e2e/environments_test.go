package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/kit/port"
)

// certifier is who signs certificates.
type certifier struct {
	t       *testing.T
	key     *ecdsa.PrivateKey
	cert    *x509.Certificate
	encoded string
}

func newCertifier(t *testing.T) *certifier {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "internal"}, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &certifier{t, key, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

// issue writes a certificate for this machine, its key, and the certifier's own certificate into a site, and returns the
// settings of a prefix that name them.
func (c *certifier) issue(s *site, prefix string) []string {
	c.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: prefix}, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.cert, key.Public(), c.key)
	if err != nil {
		c.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		c.t.Fatal(err)
	}
	s.write(prefix+".crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	s.write(prefix+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	s.write(prefix+".ca", c.encoded)
	return []string{prefix + "_CERT=" + s.path(prefix+".crt"), prefix + "_KEY=" + s.path(prefix+".key"), prefix + "_CA=" + s.path(prefix+".ca")}
}

// freeAddress is a loopback address on which nothing listens. The internal listener's port has to be known before it starts.
func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := port.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// taskPolicy allows two commands a task.
const taskPolicy = "version: 2.0.0\n\n## tool_calls\nallowed: bash\n\n## execution_limits\nmax_tool_calls_per_task: 2\n"

// TestEnvironments runs both environments: each has its own keys to sign with, a live key is mirrored to the test
// environment when it is first used there, with its policy, and from then on neither learns of the other.
//
// It makes no difference to them whether their records are in folders or in databases.
func TestEnvironments(t *testing.T) {
	t.Parallel()
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		environments(t, newHosted(t), newHosted(t, "SVC_ENV=test"))
	})
	t.Run("store", func(t *testing.T) {
		t.Parallel()
		environments(t, newHosted(t).overStore(), newHosted(t, "SVC_ENV=test").overStore())
	})
}

func environments(t *testing.T, live, mirror *site) {
	t.Helper()
	ours := newCertifier(t)
	internal := freeAddress(t)
	live.env = append(live.env, "SVC_INTERNAL_LISTEN="+internal)
	live.env = append(live.env, ours.issue(live, "SVC_INTERNAL")...)
	production := live.start()
	production.awaitReady(t, 200)
	mirror.env = append(mirror.env, "SVC_MIRROR_URL=https://"+internal)
	mirror.env = append(mirror.env, ours.issue(mirror, "SVC_MIRROR")...)
	test := mirror.start()
	test.awaitReady(t, 200)

	mine := newOperator(t)
	me, unused, gone := production.register(), production.register().APIKey, production.register()
	deployed := production.deploy(me.APIKey, mine, taskPolicy)
	live.must("keys", "revoke", gone.KeyID)
	first := tool("bash", `"command":"ls","task_id":"t"`)
	production.decides(t, "production, first", me.APIKey, first, "ALLOWED")
	production.decides(t, "production, second", me.APIKey, first, "ALLOWED")
	if got := test.decides(t, "mirrored, with counters of its own", me.APIKey, first, "ALLOWED"); got.PolicyHash != deployed.PolicyHash {
		t.Errorf("mirrored the policy %s", got.PolicyHash)
	}
	production.decides(t, "production, third", me.APIKey, first, "DENIED SVC_LOOP_LIMIT_EXCEEDED")
	test.send("POST", "/v1/authorize", unused, listing).wants(t, "a live key without a policy", "409 SVC_NO_POLICY_DEPLOYED")
	test.send("POST", "/v1/authorize", gone.APIKey, listing).wants(t, "a revoked key", "401 SVC_API_KEY_INVALID")
	test.send("POST", "/v1/authorize", "sk_svc_"+strings.Repeat("0", 64), listing).wants(t, "a key that nobody has", "401 SVC_API_KEY_INVALID")
	test.send("POST", "/v1/warranty/deploy", me.APIKey, newOperator(t).deployment(mailPolicy)).wants(t, "another operator", "403 SVC_WARRANTY_OPERATOR_KEY_MISMATCH")
	isolation(t, production, test, me, mine)

	_, _, liveKeys := production.get("/.well-known/jwks.json")
	if _, _, testKeys := test.get("/.well-known/jwks.json"); testKeys == liveKeys {
		t.Error("both environments sign with the same keys")
	}
	legacy := mirror.apiKey("--legacy-test")
	test.send("POST", "/v1/authorize", legacy, listing).wants(t, "a legacy test key", "409 SVC_NO_POLICY_DEPLOYED")
	for _, key := range []string{legacy, "sk_svc_test_", "sk_svc_test_x"} {
		production.send("POST", "/v1/authorize", key, listing).wants(t, "a test key in production", "401 SVC_API_KEY_WRONG_ENV")
	}
	strangers(t, internal, ours)

	late := production.register()
	if err := production.stop(); err != nil {
		t.Fatal(err)
	}
	test.send("POST", "/v1/authorize", late.APIKey, listing).wants(t, "with production away", "503 SVC_STORE_UNAVAILABLE")
	test.decides(t, "what is mirrored goes on", me.APIKey, tool("bash", `"command":"ls","task_id":"v"`), "ALLOWED")
}

// isolation changes things on one side and finds the other as it was.
func isolation(t *testing.T, production, test *running, me registered, mine operator) {
	t.Helper()
	other := tool("bash", `"command":"ls","task_id":"u"`)
	production.deploy(me.APIKey, mine, mailPolicy)
	before := test.decides(t, "after a deployment in production", me.APIKey, other, "ALLOWED").PolicyHash
	test.deploy(me.APIKey, mine, strings.Replace(taskPolicy, ": 2\n", ": 3\n", 1))
	_, hash := mine.sign(mailPolicy)
	if got := production.decides(t, "after a deployment in test", me.APIKey, listing, "ALLOWED").PolicyHash; got != hash || got == before {
		t.Errorf("production has the policy %s", got)
	}
	production.must("keys", "revoke", me.KeyID)
	production.send("POST", "/v1/authorize", me.APIKey, listing).wants(t, "revoked", "401 SVC_API_KEY_INVALID")
	test.decides(t, "revoked in production alone", me.APIKey, other, "ALLOWED")
	_, events := production.page(t, production.register().APIKey, "")
	if summary(events) != "key.created" {
		t.Errorf("a new key's events: %s", summary(events))
	}
}

// strangers ask the internal listener without a certificate, and with one of somebody else.
func strangers(t *testing.T, internal string, ours *certifier) {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(ours.cert)
	ask := func(certificates ...tls.Certificate) error {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: certificates}}
		defer transport.CloseIdleConnections()
		response, err := (&http.Client{Transport: transport, Timeout: 5 * time.Second}).Get("https://" + internal + "/v1/mirror/" + strings.Repeat("0", 64))
		if err == nil {
			response.Body.Close()
		}
		return err
	}
	shown := func(c *certifier) tls.Certificate {
		s := &site{t: t, dir: t.TempDir()}
		c.issue(s, "X")
		pair, err := tls.LoadX509KeyPair(s.path("X.crt"), s.path("X.key"))
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	if err := ask(); err == nil {
		t.Error("the internal listener answers without a certificate")
	}
	if err := ask(shown(newCertifier(t))); err == nil {
		t.Error("the internal listener answers to a stranger's certificate")
	}
	if err := ask(shown(ours)); err != nil { // so that the two above were refused for their certificates
		t.Errorf("a good certificate: %v", err)
	}
}
