package serve

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	cmdsettings "bailiff/cmd/bailiff/settings"
)

// manager listens as a service manager does.
func manager(t *testing.T) *net.UnixConn {
	t.Helper()
	address := &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"}
	socket, err := net.ListenUnixgram("unixgram", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	t.Setenv("NOTIFY_SOCKET", address.Name)
	return socket
}

// told returns the next message, "" where none comes within a time.
func told(t *testing.T, socket *net.UnixConn, within time.Duration) string {
	t.Helper()
	if err := socket.SetReadDeadline(time.Now().Add(within)); err != nil {
		t.Fatal(err)
	}
	message := make([]byte, 4096)
	n, err := socket.Read(message)
	if err != nil {
		return ""
	}
	return string(message[:n])
}

// TestNotifyReload: a manager hears of the beginning and the end of a reload, in the form that it can tell from an earlier one.
func TestNotifyReload(t *testing.T) {
	socket := manager(t)
	r := &service{log: slog.New(slog.DiscardHandler)}
	done := r.notifyReload()
	if got := told(t, socket, 5*time.Second); !strings.HasPrefix(got, "RELOADING=1\nMONOTONIC_USEC=") {
		t.Errorf("%q", got)
	}
	if done(); told(t, socket, 5*time.Second) != "READY=1" {
		t.Error("the end of the reload was not told")
	}
}

// TestWatchdog: the manager hears that the service lives for as long as the API answers, and only where it asks for it.
func TestWatchdog(t *testing.T) {
	socket := manager(t)
	for _, row := range []struct {
		asked    bool
		settings cmdsettings.Settings
		serve    func(http.Handler) *httptest.Server
	}{
		{false, cmdsettings.Settings{}, httptest.NewServer},
		{true, cmdsettings.Settings{}, httptest.NewServer},
		{true, cmdsettings.Settings{TLSCert: "api.pem"}, httptest.NewTLSServer},
	} {
		asked, api := row.asked, row.serve(http.NotFoundHandler())
		defer api.Close()
		if asked {
			t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
			t.Setenv("WATCHDOG_USEC", "100000")
		}
		ctx, cancel := context.WithCancel(t.Context())
		r := &service{settings: &row.settings, log: slog.New(slog.DiscardHandler), address: api.Listener.Addr().String()}
		r.work.cancel, r.work.started = cancel, true
		r.startWatchdog(ctx, func(err error) { t.Error(err) })
		if asked {
			if got := told(t, socket, 5*time.Second); got != "WATCHDOG=1" {
				t.Errorf("%q", got)
			}
			api.Close()
			for told(t, socket, 200*time.Millisecond) != "" { // those that were on their way
				continue
			}
		} else if got := told(t, socket, 200*time.Millisecond); got != "" {
			t.Errorf("%q without being asked", got)
		}
		if err := r.work.stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
