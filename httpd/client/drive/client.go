package drive

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Client holds a client to the answers, retries, vectors and times of caching that the Go client is held to. Root is the
// path of the project's root. One that lacks ML-DSA-65 has to say so of every attestation that comes as far as that, and has
// to find everything else where it is not to check it.
func Client(t *testing.T, command []string, root string, mldsa bool) {
	t.Run("answers", func(t *testing.T) { answers(t, command, root) })
	t.Run("slow", func(t *testing.T) { slow(t, command) })
	t.Run("retry", func(t *testing.T) { retry(t, command) })
	t.Run("vectors", func(t *testing.T) { vectors(t, command, root, mldsa) })
	t.Run("cache", func(t *testing.T) { cache(t, command, root) })
}

// read decodes a file of the project.
func read(t testing.TB, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func answers(t testing.TB, command []string, root string) {
	var tests []struct {
		Name, Body, Want string
		Status           int
	}
	read(t, filepath.Join(root, "httpd/client/testdata/answers.json"), &tests)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			t.Error("a redirect was followed")
		}
		i, err := strconv.Atoi(strings.Split(r.URL.Path, "/")[1])
		if err != nil {
			return
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(tests[i].Status)
		_, _ = io.WriteString(w, tests[i].Body)
	}))
	defer server.Close()
	var got []string
	Run(t, command, Task{Do: "answers", URL: server.URL, Count: len(tests)}, &got, nil)
	if len(got) != len(tests) || len(tests) == 0 {
		t.Fatalf("%d results of %d answers", len(got), len(tests))
	}
	for i, test := range tests {
		if got[i] != test.Want {
			t.Errorf("%s: %s, want %s", test.Name, got[i], test.Want)
		}
	}
}

// slow: a service that sends a byte now and then, of the header or of the body, over TCP or a socket, keeps no caller for longer
// than its timeout.
func slow(t testing.TB, command []string) {
	folder, err := os.MkdirTemp("", "bailiff-") // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	for _, begin := range []string{"HTTP/1.1 200 OK\r\nX-Slow: ", "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", ""} {
		for _, network := range []string{"tcp", "unix"} {
			address, url := "127.0.0.1:0", ""
			if network == "unix" {
				address = filepath.Join(folder, "s")
				url = "unix:" + address
			}
			listener, err := net.Listen(network, address)
			if err != nil {
				t.Fatal(err)
			}
			if url == "" {
				url = "http://" + listener.Addr().String()
			}
			go drip(listener, begin)
			var got string
			late := time.NewTimer(slowest)
			Run(t, command, Task{Do: "slow", URL: url}, &got, nil)
			if inTime := late.Stop(); got != "unreachable" || !inTime {
				t.Errorf("%q over %s: %s, in time: %t", begin, network, got, inTime)
			}
			listener.Close()
		}
	}
}

// slowest is how long a driver may take that waits for a second.
const slowest = 30 * time.Second

// drip answers each connection with a beginning, and then a byte every tenth of a second.
func drip(listener net.Listener, begin string) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer connection.Close()
			_, err := io.WriteString(connection, begin)
			for rest := 0; err == nil && rest < 600; rest++ {
				time.Sleep(100 * time.Millisecond)
				_, err = io.WriteString(connection, "a")
			}
		}()
	}
}

// retry: a request whose answer is lost is sent again only where it has a nonce, with the same bytes.
func retry(t testing.TB, command []string) {
	for _, test := range []struct {
		nonce, want string
		sent        int
	}{{"", "unreachable", 1}, {"n-1", "ALLOWED", 2}} {
		var bodies []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if bodies = append(bodies, string(body)); len(bodies) == 1 {
				panic(http.ErrAbortHandler) // the answer is lost
			}
			_, _ = io.WriteString(w, `{"status":"ALLOWED","intent_attestation":"a","policyHash":"x","message":"m","replayed":true,"request_nonce":"n-1"}`)
		}))
		var got string
		Run(t, command, Task{Do: "retry", URL: server.URL, Nonce: test.nonce}, &got, nil)
		server.Close()
		if got != test.want || len(bodies) != test.sent || bodies[0] != bodies[test.sent-1] {
			t.Errorf("nonce %q: %s, sent %q", test.nonce, got, bodies)
		}
	}
}

// vectorFile is docs/vectors/attestations.json.
type vectorFile struct {
	JWKS    json.RawMessage
	PQCKeys json.RawMessage
	Vectors []struct{ Name, Result string }
}

func (f *vectorFile) serve(w http.ResponseWriter, r *http.Request) {
	set := f.JWKS
	if strings.HasSuffix(r.URL.Path, "svc-pqc-keys.json") {
		set = f.PQCKeys
	}
	_, _ = w.Write(set)
}

func vectors(t testing.TB, command []string, root string, mldsa bool) {
	var file vectorFile
	path, err := filepath.Abs(filepath.Join(root, "docs/vectors/attestations.json"))
	if err != nil {
		t.Fatal(err)
	}
	read(t, path, &file)
	server := httptest.NewServer(http.HandlerFunc(file.serve))
	defer server.Close()
	check := func(without bool, fits func(got, want string) bool) {
		var got []string
		Run(t, command, Task{Do: "vectors", URL: server.URL, File: path, WithoutPQC: without}, &got, nil)
		if len(got) != len(file.Vectors) || len(got) == 0 {
			t.Fatalf("%d results of %d vectors", len(got), len(file.Vectors))
		}
		for i, vector := range file.Vectors {
			if !fits(got[i], vector.Result) {
				t.Errorf("%s: %s, want %s", vector.Name, got[i], vector.Result)
			}
		}
	}
	if mldsa {
		check(false, func(got, want string) bool { return got == want })
		return
	}
	before := []string{"too_large", "malformed", "header", "unknown_key", "signature"}
	check(false, func(got, want string) bool {
		return got == want && want != "ok" || got == "unavailable" && !slices.Contains(before, want)
	})
	check(true, func(got, want string) bool { return got == want || want == "pqc" })
}

// cache: key sets are used for 5 minutes, fetched again at most every 10 seconds, and used for an hour where they can't be.
func cache(t testing.TB, command []string, root string) {
	var file vectorFile
	read(t, filepath.Join(root, "docs/vectors/attestations.json"), &file)
	asked := 0
	fails := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if fails { // the first one alone
			fails = false
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if asked > 5 { // from the third fetch on
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		file.serve(w, r)
	}))
	defer server.Close()
	const begin = 1_000_000
	times := []int64{0, 9, 10, 10 + 299, 10 + 300, 10 + 2*300, 10 + 300 + 3599, 10 + 300 + 3600}
	for i := range times {
		times[i] += begin
	}
	want := []string{"keys", "keys", "malformed", "malformed", "malformed", "malformed", "malformed", "keys"}
	var got []string
	Run(t, command, Task{Do: "cache", URL: server.URL, Times: times}, &got, nil)
	if !slices.Equal(got, want) || asked != 7 {
		t.Errorf("%q after %d requests, want %q after 7", got, asked, want)
	}
}
