package e2e

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// reloadedLine is what the log says of a reload that changed everything that it was to change.
const reloadedLine = "settings and certificates were read again"

// stayLine is what it says of one that changed nothing.
const stayLine = "nothing was reloaded; settings, certificates and policy stay"

// clientOf is a client that trusts one authority, and connects anew for each request.
func clientOf(authority *certifier) *http.Client {
	pool := x509.NewCertPool()
	pool.AddCert(authority.cert)
	return &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}}
}

// overTLS starts a service with a certificate by an authority, whose further settings are in a file.
func overTLS(t *testing.T, s *site, authority *certifier, lines ...string) *running {
	t.Helper()
	s.settings(append(authority.issue(s, "SVC_TLS")[:2], lines...)...)
	s.env = append(s.env, "SVC_SETTINGS_FILE="+s.path("settings"))
	service := s.start()
	service.base = strings.Replace(service.base, "http:", "https:", 1)
	return service
}

// settings writes the file of settings.
func (s *site) settings(lines ...string) {
	s.t.Helper()
	s.write("settings", "# further settings\n\n"+strings.Join(lines, "\n")+"\n")
}

// TestTLS: the API answers over TLS, by either version, tells a client without it what to do, and shows the console to other names
// than those of this machine.
func TestTLS(t *testing.T) {
	t.Parallel()
	s, ours := newSite(t, reloadable(2)), newCertifier(t)
	key := s.apiKey()
	service := overTLS(t, s, ours)
	if a, err := service.postBy(clientOf(ours), "/v1/authorize", key, evenBody("")); err != nil || a.Status != "ALLOWED" {
		t.Errorf("over TLS: %v, %s", err, a.Raw)
	}
	if _, err := service.postBy(clientOf(newCertifier(t)), "/v1/authorize", key, evenBody("")); err == nil {
		t.Error("a client that trusts another authority gets an answer")
	}
	address := strings.TrimPrefix(service.base, "https://")
	for version, good := range map[uint16]bool{tls.VersionTLS13: true, tls.VersionTLS12: true, tls.VersionTLS11: false} {
		pool := x509.NewCertPool()
		pool.AddCert(ours.cert)
		connection, err := tls.Dial("tcp", address, &tls.Config{RootCAs: pool, MinVersion: version, MaxVersion: version})
		if good != (err == nil) {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
		if err == nil {
			connection.Close()
		}
	}
	if text := exchange(t, address, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.HasPrefix(text, "HTTP/1.1 400 ") || !strings.Contains(text, "use https://") {
		t.Errorf("a client without TLS is answered %q", text)
	}
	if text := exchange(t, address, "SSH-2.0-OpenSSH_9.2\r\n"); strings.Contains(text, "HTTP") {
		t.Errorf("a client that is none of HTTP is answered %q", text)
	}
	request, err := http.NewRequest(http.MethodGet, service.base+"/console/sign-in", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "bailiff.example.com"
	response, err := clientOf(ours).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("over TLS the console is answered %d", response.StatusCode)
	}
	if _, _, text := s.fetch(ours, service.base+"/openapi.json"); !strings.Contains(text, service.base) {
		t.Errorf("the documents do not name %s", service.base)
	}
	if err := service.stop(); err != nil {
		t.Error(err)
	}
}

// fetch fetches a document over TLS.
func (s *site) fetch(authority *certifier, url string) (int, http.Header, string) {
	s.t.Helper()
	response, err := clientOf(authority).Get(url)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}

// exchange sends bytes without TLS, and returns what comes back.
func exchange(t *testing.T, address, bytes string) string {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(connection, bytes); err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(bufio.NewReader(connection)) // the service ends the connection
	return string(text)
}

// TestCertificateIsReplaced: new connections see the certificate of the last good reload, while clients ask and none of their
// requests is lost; half a pair, a key that others read, and no certificate are refused.
func TestCertificateIsReplaced(t *testing.T) {
	t.Parallel()
	s := newSite(t, reloadable(2))
	key := s.apiKey()
	authorities := []*certifier{newCertifier(t), newCertifier(t)}
	service := overTLS(t, s, authorities[0])
	shows := func(want int) {
		t.Helper()
		for i, authority := range authorities {
			_, err := service.postBy(clientOf(authority), "/v1/authorize", key, evenBody(""))
			if (err == nil) != (i == want) {
				t.Fatalf("authority %d: %v; the certificate should be by authority %d", i, err, want)
			}
		}
	}
	shows(0)
	pool := x509.NewCertPool()
	for _, authority := range authorities {
		pool.AddCert(authority.cert)
	}
	ended := service.loadTLS(key, pool)
	const swaps = 10
	for n := range swaps {
		authorities[(n+1)%2].issue(s, "SVC_TLS")
		service.hangUp(reloadedLine, n+1)
		shows((n + 1) % 2)
	}
	if asked := ended(); asked < swaps {
		t.Errorf("%d requests are no load", asked)
	}
	s.refusesPairs(service, authorities, func() { t.Helper(); shows(0) })
	if err := os.Chmod(s.path("SVC_TLS.key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errors, code := s.run("doctor"); strings.Contains(errors, "panic") || code > 1 {
		t.Errorf("doctor ends with %d: %s", code, errors)
	}
}

// refusesPairs reloads certificates that are not good, while the first authority's is shown. After each of them all has to be the same.
func (s *site) refusesPairs(service *running, authorities []*certifier, same func()) {
	s.t.Helper()
	good, err := os.ReadFile(s.path("SVC_TLS.crt"))
	if err != nil {
		s.t.Fatal(err)
	}
	for n, one := range []struct {
		what, why string
		do        func()
	}{
		{"half a pair", "private key does not match public key", func() {
			authorities[1].issue(s, "SVC_TLS")
			s.write("SVC_TLS.crt", string(good))
		}},
		{"no certificate", "no such file or directory", func() {
			if err := os.Remove(s.path("SVC_TLS.crt")); err != nil {
				s.t.Fatal(err)
			}
		}},
		{"no PEM", "failed to find any PEM data", func() { s.write("SVC_TLS.crt", "x") }},
		{"an open key", "chmod 600", func() {
			authorities[0].issue(s, "SVC_TLS")
			if err := os.Chmod(s.path("SVC_TLS.key"), 0o644); err != nil {
				s.t.Fatal(err)
			}
		}},
	} {
		one.do()
		service.hangUp(stayLine, n+1)
		if lines := strings.Split(service.log.String(), stayLine); !strings.Contains(lines[len(lines)-1], one.why) {
			s.t.Errorf("of %s the log says %s", one.what, lines[len(lines)-1])
		}
		same()
	}
}

// loadTLS has clients ask, some of which connect anew for each request, until ended is called, which returns how often they asked.
func (r *running) loadTLS(key string, pool *x509.CertPool) (ended func() int64) {
	var workers sync.WaitGroup
	var asked atomic.Int64
	done := make(chan struct{})
	for worker := range 4 {
		either := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: worker%2 == 0}}
		workers.Go(func() {
			for ; ; asked.Add(1) {
				select {
				case <-done:
					return
				default:
				}
				if a, err := r.postBy(either, "/v1/authorize", key, evenBody("")); err != nil || a.Status != "ALLOWED" {
					r.t.Errorf("a request was lost: %v, %s", err, a.Raw)
					return
				}
			}
		})
	}
	return func() int64 {
		close(done)
		workers.Wait()
		return asked.Load()
	}
}

// refusesSettings reloads files of settings that are wrong, or that change what needs a restart, beside a good change. After each of
// them all has to be the same.
func (s *site) refusesSettings(service *running, files []string, limited string, same func()) {
	s.t.Helper()
	refused := 0
	stays := func(why string, lines ...string) {
		s.t.Helper()
		s.settings(append(files, lines...)...)
		refused++
		service.hangUp(stayLine, refused)
		if lines := strings.Split(service.log.String(), stayLine); !strings.Contains(lines[len(lines)-1], why) {
			s.t.Errorf("the log says %s, and not %s", lines[len(lines)-1], why)
		}
		same()
	}
	stays("SVC_ISSUER", limited, "SVC_ISSUER=other")
	stays("SVC_DATA_DIR", limited, "SVC_DATA_DIR=elsewhere")                                      // which the environment has, too
	stays("line 6: \\\"SVC_ISUER\\\" is not a setting", limited, "SVC_ISUER=other")               // misspelt
	stays("line 6: SVC_RATE_LIMIT_KEY is set in line 5 as well", limited, limited)                // twice
	stays("SVC_RATE_LIMIT_IP is \\\"many\\\"; it has to be N", limited, "SVC_RATE_LIMIT_IP=many") // no value
	stays("line 6: it is not NAME=value", limited, "https://node.example/hush?x=1")
	if strings.Contains(service.log.String(), "hush") {
		s.t.Error("the log has a line of the file")
	}
}

// TestSettingsAreReloaded: SIGHUP changes limits, the log's level and the policy's file together; where one thing can't change,
// nothing does, and the log says which.
func TestSettingsAreReloaded(t *testing.T) {
	t.Parallel()
	s, ours := newSite(t, reloadable(2)), newCertifier(t)
	key := s.apiKey()
	service := overTLS(t, s, ours)
	files := ours.issue(s, "SVC_TLS")[:2]
	ask := func() string {
		t.Helper()
		a, err := service.postBy(clientOf(ours), "/v1/authorize", key, evenBody(""))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(a.HTTP)
	}
	all := func(times int, want string) {
		t.Helper()
		for range times {
			if got := ask(); got != want {
				t.Fatalf("an intent is answered %s, want %s", got, want)
			}
		}
	}
	all(3, "200")
	const limited = "SVC_RATE_LIMIT_KEY=1/1h"
	s.refusesSettings(service, files, limited, func() { t.Helper(); all(1, "200") })
	third, _ := s.prepare("third.md", reloadable(3))
	s.write("third.md", strings.Replace(third, "allowed: bash", "allowed: bash, deploy", 1)) // does not verify
	s.settings(append(files, limited)...)
	if err := os.Rename(s.path("third.md"), s.path("warranty.md")); err != nil {
		t.Fatal(err)
	}
	service.hangUp(refusedLine, 1)
	all(1, "200")
	fourth, _ := s.prepare("fourth.md", reloadable(4))
	s.install(fourth)
	s.settings(append(files, limited, "SVC_LOG_LEVEL=debug")...)
	service.hangUp(reloadedLine, 1)
	if !strings.Contains(service.log.String(), `changed="SVC_LOG_LEVEL SVC_RATE_LIMIT_KEY"`) {
		t.Errorf("the log does not name what changed: %s", service.log)
	}
	if got := ask(); got != "200" {
		t.Errorf("the first intent under the limit is answered %s", got)
	}
	all(2, "429")
	s.settings(files...)
	service.hangUp(reloadedLine, 2)
	all(3, "200")
	if err := service.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}
