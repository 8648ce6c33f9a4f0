package serve

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"bailiff/httpd"
)

// shortDir is a folder whose name leaves room for the path of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bailiff-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// TestPeerIsASource holds that a connection over the socket counts for the user at its other end.
func TestPeerIsASource(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	listener, err := listenUnix(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	client, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	want := httpd.UnixPeer(os.Getuid())
	if runtime.GOOS != "linux" {
		want = httpd.UnknownPeer
	}
	if got := accepted.RemoteAddr(); got != net.Addr(want) {
		t.Errorf("the peer is %v, want %v", got, want)
	}
	if !httpd.SourceOf(accepted.RemoteAddr()).IsValid() {
		t.Error("its connections are not counted")
	}
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
}

// TestCloseLeavesAnothersSocket holds that a socket that has taken the place of ours stays.
func TestCloseLeavesAnothersSocket(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	first, err := listenUnix(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+"-away"); err != nil {
		t.Fatal(err)
	}
	second, err := listenUnix(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the other's socket is gone: %v", err)
	}
}

// TestWhoIsConnectedIsAccepted holds that closing does not reset connections that were made before.
func TestWhoIsConnectedIsAccepted(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	listener, err := listenUnix(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	client, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	closed := make(chan error, 1)
	go func() { closed <- listener.Close() }()
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatalf("who was connected is not accepted: %v", err)
	}
	accepted.Close()
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
