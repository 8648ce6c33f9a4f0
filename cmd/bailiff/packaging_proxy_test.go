package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bailiff/fuzz/kit/certificate"
	"bailiff/fuzz/kit/debian"
	"bailiff/fuzz/kit/port"
)

// publicName is the name by which the example configurations serve Bailiff.
const publicName = "bailiff.example.com"

// The service behind a proxy lets so many requests of one source through in so long.
const (
	rateLimit  = 40
	rateWindow = 2 * time.Second
)

// A proxied is a proxy that runs by an example configuration in front of a service.
type proxied struct {
	t      *testing.T
	key    string // API key
	client *http.Client
	plain  string // address without TLS
}

// A proxy is one of the proxies that there is a configuration for.
type proxy struct {
	program, pkg, file string
	// serve returns the configuration for tests, made of the example, and the commands that check it and run it. Folders that the
	// proxy writes to are below dir, which has the certificate as well.
	serve     func(dir, text string, at places) (config, check, run []string)
	redirects bool // answers plain HTTP by a redirection
	// planted are faults of a configuration, and how the requests that find them begin their report.
	planted [][3]string
}

// places are where a proxy listens and where the service does.
type places struct{ tls, plain, service string }

// nginxMain surrounds the example as Debian's /etc/nginx/nginx.conf surrounds files in conf.d.
const nginxMain = `%[2]sdaemon off; worker_processes 1; pid %[1]s/nginx.pid; error_log stderr warn;
events {}
http {
  access_log off;
  client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi; uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
  include %[1]s/bailiff.conf;
}
`

var proxies = []proxy{
	{
		program: "nginx", pkg: "nginx-light", file: "packaging/proxy/nginx.conf", redirects: true,
		serve: func(dir, text string, at places) (config, check, run []string) {
			text = regexp.MustCompile(`(?m)^\s*listen \[::\].*\n`).ReplaceAllString(text, "")
			text = strings.NewReplacer("listen 443 ", "listen "+at.tls+" ", "listen 80;", "listen "+at.plain+";", "server 127.0.0.1:8787", "server "+at.service,
				"/etc/ssl/bailiff/fullchain.pem", dir+"/"+publicName+".pem", "/etc/ssl/bailiff/privkey.pem", dir+"/"+publicName+".key").Replace(text)
			user := "" // root may name the user of the processes that work, and others may not
			if os.Getuid() == 0 {
				user = "user root; "
			}
			main := fmt.Sprintf(nginxMain, dir, user)
			arguments := []string{"-e", "stderr", "-p", dir, "-c", dir + "/main.conf"}
			return []string{"bailiff.conf", text, "main.conf", main}, append([]string{"-t"}, arguments...), arguments
		},
		planted: [][3]string{
			{"$remote_addr", "$proxy_add_x_forwarded_for", "X-Forwarded-For"}, {"X-Forwarded-Proto https", `X-Forwarded-Proto ""`, "signing in"},
			{"client_max_body_size 4m", "client_max_body_size 100k", "a body"}, {"large_client_header_buffers 4 16k", "large_client_header_buffers 4 4k", "a header"},
			{"proxy_read_timeout 90s", "proxy_read_timeout 500ms", "a long poll"},
			{"location = /metrics { return 404; }", "location = /metrics { return 200 bailiff_ready; }", "metrics"},
		},
	},
	{
		program: "caddy", pkg: "caddy", file: "packaging/proxy/Caddyfile",
		serve: func(dir, text string, at places) (config, check, run []string) {
			_, tlsPort, _ := net.SplitHostPort(at.tls)
			_, plainPort, _ := net.SplitHostPort(at.plain)
			global := fmt.Sprintf("{\n\tadmin off\n\thttps_port %s\n\thttp_port %s\n\tstorage file_system %s/storage\n}\n", tlsPort, plainPort, dir)
			own := fmt.Sprintf("%s {\n\tbind 127.0.0.1\n\ttls %s/%[1]s.pem %[2]s/%[1]s.key", publicName, dir)
			text = strings.NewReplacer(publicName+" {", own, "127.0.0.1:8787", at.service).Replace(text)
			arguments := []string{"--config", dir + "/Caddyfile", "--adapter", "caddyfile"}
			return []string{"Caddyfile", global + text}, append([]string{"validate"}, arguments...), append([]string{"run"}, arguments...)
		},
		planted: [][3]string{
			{"response_header_timeout 90s", "response_header_timeout 500ms", "a long poll"}, {"max_size 4MB", "max_size 100KB", "a body"}, {"respond /metrics 404", "respond /metrics 200", "metrics"},
		},
	},
}

// TestProxies checks the example configurations by the proxies themselves, and sends requests through them to a service.
func TestProxies(t *testing.T) {
	t.Setenv("SVC_PUBLIC_URL", "https://"+publicName)
	t.Setenv("SVC_TRUSTED_PROXIES", "127.0.0.1/32")
	t.Setenv("SVC_RATE_LIMIT_IP", fmt.Sprintf("%d/%v", rateLimit, rateWindow))
	w := newWalk(t)
	for _, p := range proxies {
		t.Run(p.program, func(t *testing.T) {
			program := debian.Program(t, p.program, p.pkg)
			example, err := os.ReadFile(p.file)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(rateWindow) // the source's limit is over
			for _, fault := range p.faults(t, w, program, string(example)) {
				t.Error(fault)
			}
			text := string(example)
			for _, change := range p.planted {
				text = strings.Replace(text, change[0], change[1], 1)
			}
			time.Sleep(rateWindow)
			found := p.faults(t, w, program, text)
			for _, change := range p.planted {
				if !strings.Contains(text, change[1]) || !slices.ContainsFunc(found, func(fault string) bool { return strings.HasPrefix(fault, change[2]) }) {
					t.Errorf("%q in place of %q is not found; found were %q", change[1], change[0], found)
				}
			}
		})
	}
}

// faults runs a proxy by a configuration, and returns in which requests it does not do what it is for.
func (p proxy) faults(t *testing.T, w *walk, program, text string) []string {
	t.Helper()
	dir := t.TempDir()
	if err := certificate.Make(dir, "ca", publicName); err != nil {
		t.Fatal(err)
	}
	at := places{service: w.address}
	for _, address := range []*string{&at.tls, &at.plain} {
		var err error
		if *address, err = port.FreeAddress(); err != nil {
			t.Fatal(err)
		}
	}
	config, check, arguments := p.serve(dir, text, at)
	for i := 0; i < len(config); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, config[i]), []byte(config[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(arguments []string) *exec.Cmd {
		command := exec.CommandContext(t.Context(), program, arguments...)
		command.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
		return command
	}
	if output, err := run(check).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", program, check, err, output)
	}
	var log bytes.Buffer
	command := run(arguments)
	command.Stdout, command.Stderr = &log, &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		if err := command.Wait(); err != nil || t.Failed() {
			t.Logf("%s: %v\n%s", program, err, &log)
		}
	}()
	key, err := os.ReadFile(filepath.Join(w.dir, "data", "api-key"))
	if err != nil {
		t.Fatal(err)
	}
	r := proxied{t: t, key: strings.TrimSpace(string(key)), client: clientOf(t, dir, at.tls), plain: at.plain}
	r.await(at.tls)
	return r.faults(p.redirects)
}

// clientOf reaches the public name at an address, and trusts the authority of a folder.
func clientOf(t *testing.T, dir, address string) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	authority, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil || !roots.AppendCertsFromPEM(authority) {
		t.Fatal("no authority: ", err)
	}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		},
		TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// await waits until a proxy listens.
func (r proxied) await(address string) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			connection.Close()
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatal(err)
		}
	}
}

// An answered is an answer that was read.
type answered struct {
	*http.Response
	body string
}

// send sends a request through the proxy; a body makes it a POST.
func (r proxied) send(path, body string, headers ...string) answered {
	r.t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(r.t.Context(), method, "https://"+publicName+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := r.client.Do(request)
	if err != nil {
		return answered{&http.Response{}, err.Error()}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answered{response, err.Error()}
	}
	return answered{response, string(text)}
}

// held is an intent of the example policy that waits for a person.
const held = `{"framework": "custom", "agentId": "trader-1", "chainId": 8453,
 "txCommit": "b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c",
 "intent": {"action": "wallet.transfer", "targetAddress": "0x00000000000000000000000000000000000000aa",
            "amount": "0.3", "maxFee": "0.001", "metadata": {"desk": "desk-1"}}}`

// faults sends what clients, approvers, the console and an attacker send.
func (r proxied) faults(redirects bool) (found []string) {
	wants := func(of string, got answered, status int, parts ...string) {
		for _, part := range parts {
			if !strings.Contains(got.body, part) {
				found = append(found, fmt.Sprintf("%s: %.300q, want %q in it", of, got.body, part))
			}
		}
		if got.StatusCode != status {
			found = append(found, fmt.Sprintf("%s: %d %.300q, want %d", of, got.StatusCode, got.body, status))
		}
	}
	bearer := []string{"Authorization", "Bearer " + r.key}
	ready := r.send("/readyz", "")
	wants("readiness", ready, 200, `"ledger"`)
	if ready.Header.Get("Strict-Transport-Security") == "" || strings.ContainsAny(ready.Header.Get("Server"), "0123456789") {
		found = append(found, fmt.Sprintf("the headers of an answer are %v", ready.Header))
	}
	wants("a header as long as an attestation", r.send("/readyz", "", "X-Attestation", strings.Repeat("a", 8100)), 200)
	wants("a body above the service's bound", r.send("/v1/authorize", strings.Repeat(" ", 1<<20), bearer...), 413, "SVC_BODY_TOO_LARGE")
	wants("metrics", r.send("/metrics", ""), 404)
	wants("the page of approvers", r.send("/approve", ""), 200, "<form")
	wants("the operator's console", r.send("/console/keys", ""), 404)
	answer := r.send("/v1/authorize", held, bearer...)
	wants("an intent that is held", answer, 202, `"PENDING"`)
	if hold := regexp.MustCompile(`"holdId":"([^"]*)"`).FindStringSubmatch(answer.body); hold != nil {
		begin := time.Now()
		wants("a long poll", r.send("/v1/holds/"+hold[1]+"?wait=1", "", bearer...), 200, `"PENDING"`)
		if took := time.Since(begin); took < 900*time.Millisecond {
			found = append(found, fmt.Sprintf("the long poll ended after %v", took))
		}
	}
	signIn := r.send("/console/sign-in", url.Values{"key": {r.key}}.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Origin", "https://"+publicName, "Sec-Fetch-Site", "same-origin")
	wants("signing in to the console", signIn, 303)
	cookie := strings.SplitN(signIn.Header.Get("Set-Cookie"), ";", 2)[0]
	wants("events as they happen", r.send("/console/live?after=0", "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin"), 200, "id: 2\ndata: ")
	if redirects {
		found = append(found, r.redirected()...)
	}
	return append(found, r.spoofed()...)
}

// redirected asks without TLS, and is to be sent to the same page with it.
func (r proxied) redirected() []string {
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, "http://"+r.plain+"/console?a=b", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	request.Host = publicName
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return []string{"without TLS: " + err.Error()}
	}
	defer response.Body.Close()
	if got := response.Header.Get("Location"); response.StatusCode != http.StatusMovedPermanently || got != "https://"+publicName+"/console?a=b" {
		return []string{fmt.Sprintf("without TLS: %d to %q", response.StatusCode, got)}
	}
	return nil
}

// spoofed sends more requests than one source may, each with another address that it says it is from.
func (r proxied) spoofed() []string {
	for i := range rateLimit + 1 {
		if got := r.send("/v1/holds/x", "", "X-Forwarded-For", fmt.Sprintf("192.0.2.%d", i), "Forwarded", "for=192.0.2.1"); got.StatusCode == http.StatusTooManyRequests {
			return nil
		}
	}
	return []string{fmt.Sprintf("X-Forwarded-For of a client is believed: %d requests, each with another one, are all let through", rateLimit+1)}
}
