package main

import (
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestServiceManager: a service tells its manager, over the socket of sd_notify(3), when it is ready, when it reloads, and when it ends.
func TestServiceManager(t *testing.T) {
	address := &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"}
	socket, err := net.ListenUnixgram("unixgram", address)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	t.Setenv("NOTIFY_SOCKET", address.Name)
	expect := func(want string) {
		t.Helper()
		message := make([]byte, 4096)
		if err := socket.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		if n, err := socket.Read(message); err != nil || !strings.HasPrefix(string(message[:n]), want) {
			t.Fatalf("%q, %v, want %s", message[:n], err, want)
		}
	}
	w := newWalk(t)
	expect("READY=1")
	if err := w.service.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	expect("RELOADING=1\nMONOTONIC_USEC=")
	expect("READY=1")
	if err := w.service.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	expect("STOPPING=1")
}
