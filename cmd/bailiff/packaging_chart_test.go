package main

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"bailiff/fuzz/kit/certificate"
	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/kit/port"
)

// chartProbes returns the paths that the probes of the Helm chart ask for: at the start, for life, and for readiness.
func chartProbes(t *testing.T) []string {
	t.Helper()
	template, err := os.ReadFile("packaging/helm/bailiff/templates/statefulset.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, found := range regexp.MustCompile(`httpGet: \{path: (/\w+), port: api,`).FindAllStringSubmatch(string(template), -1) {
		paths = append(paths, found[1])
	}
	if len(paths) != 3 {
		t.Fatalf("%d probes", len(paths))
	}
	return paths
}

// probed returns the status of an answer, 0 without one.
func probed(address, path string) int {
	answer, err := http.Get("http://" + address + path)
	if err != nil {
		return 0
	}
	answer.Body.Close()
	return answer.StatusCode
}

// TestChartProbes: a service that is well answers what the probes of the Helm chart ask.
func TestChartProbes(t *testing.T) {
	w := newWalk(t)
	for _, path := range chartProbes(t) {
		if status := probed(w.address, path); status != 200 {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status := probed(w.address, "/healthy"); status != 404 {
		t.Errorf("another path: %d", status)
	}
}

// A podStore is a database over which instances run by the names of pods.
type podStore struct {
	*testing.T
	command, dir, domain string
	environ              []string
}

// newPodStore makes the tables, and certificates for two pods and the ID that bailiff store init prints.
func newPodStore(t *testing.T) *podStore {
	t.Helper()
	command, err := exec.LookPath("bailiff") // TestMain makes this binary the command
	if err != nil {
		t.Fatal(err)
	}
	s := &podStore{T: t, command: command, dir: t.TempDir()}
	s.environ = append(os.Environ(), "SVC_STORE="+pgtest.Start(t).URL(), "SVC_STORE_SYNC=trust", "SVC_HOSTED=true", "SVC_ADMIN_LISTEN=off", "SVC_KEY_DIR="+s.dir)
	initial := exec.Command(command, "store", "init")
	initial.Env = s.environ
	said, err := initial.CombinedOutput()
	id := regexp.MustCompile(`, store ([\w-]+)\)\n$`).FindSubmatch(said)
	if err != nil || id == nil {
		t.Fatalf("%v: %s", err, said)
	}
	s.domain = "." + string(id[1]) + ".bailiff.internal"
	if err := certificate.Make(s.dir, "ca", "bailiff-0"+s.domain, "bailiff-1"+s.domain); err != nil {
		t.Fatal(err)
	}
	return s
}

// serve starts an instance with the certificate of a pod. Its exit code comes when it ends.
func (s *podStore) serve(pod, certified string) (address string, exit <-chan int) {
	s.Helper()
	free, err := port.Free()
	if err != nil {
		s.Fatal(err)
	}
	var log bytes.Buffer
	pair := filepath.Join(s.dir, certified+s.domain)
	service := exec.Command(s.command, "serve")
	service.Stdout, service.Stderr = &log, &log
	service.Env = append(slices.Clone(s.environ), "SVC_LISTEN=127.0.0.1:"+free, "SVC_DATA_DIR="+filepath.Join(s.dir, "data-"+pod), "SVC_INSTANCE="+pod,
		"SVC_PEER_LISTEN=127.0.0.1:0", "SVC_PEER_CERT="+pair+".pem", "SVC_PEER_KEY="+pair+".key", "SVC_PEER_CA="+filepath.Join(s.dir, "ca.pem"))
	if err := service.Start(); err != nil {
		s.Fatal(err)
	}
	ended := make(chan int, 1)
	gone := make(chan struct{})
	go func() {
		_ = service.Wait()
		ended <- service.ProcessState.ExitCode()
		close(gone)
	}()
	s.Cleanup(func() {
		_ = service.Process.Kill()
		if <-gone; s.Failed() {
			s.Logf("%s:\n%s", pod, &log)
		}
	})
	return "127.0.0.1:" + free, ended
}

// TestChartPods: instances by the names of pods become ready by the chart's probes, the one that waits as well. One that has the certificate of
// another pod ends.
func TestChartPods(t *testing.T) {
	s := newPodStore(t)
	for _, pod := range []string{"bailiff-0", "bailiff-1"} {
		address, _ := s.serve(pod, pod)
		for _, path := range chartProbes(t) {
			for deadline := time.Now().Add(patience); probed(address, path) != 200; time.Sleep(20 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%s does not answer %s with 200", pod, path)
				}
			}
		}
	}
	_, exit := s.serve("bailiff-2", "bailiff-1")
	select {
	case code := <-exit:
		if code != 1 {
			t.Errorf("bailiff-2 ended with %d", code)
		}
	case <-time.After(patience):
		t.Error("bailiff-2 runs with the certificate of bailiff-1")
	}
}
