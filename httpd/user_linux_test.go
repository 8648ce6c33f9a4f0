package httpd

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// TestUserOf asks who made a connection: this process, over both versions of IP, and one of another user.
func TestUserOf(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("%s: %v", address, err) // a machine without IPv6
			continue
		}
		defer listener.Close()
		accept := func(what, want string, connect func() error) {
			t.Helper()
			done := make(chan error, 1)
			go func() { done <- connect() }()
			conn, err := listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if user, err := userOf(conn); err != nil || user != want {
				t.Errorf("%s: the user is %q, %v; want %s", what, user, err, want)
			}
			conn.Close()
			if err := <-done; err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		host, port, _ := net.SplitHostPort(listener.Addr().String())
		closed, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conn, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		closed.Close()
		if _, err := conn.Read(make([]byte, 1)); err != io.EOF {
			t.Fatal(err)
		}
		if user, err := userOf(conn); err == nil {
			t.Errorf("a connection that its program has closed is of %q", user)
		}
		conn.Close()
		accept("this process", fmt.Sprint("uid ", os.Getuid()), func() error {
			conn, err := net.Dial("tcp", listener.Addr().String())
			if err == nil {
				_, _ = conn.Read(make([]byte, 1)) // until it is closed
				conn.Close()
			}
			return err
		})
		if os.Getuid() != 0 {
			continue // there is no other user to connect
		}
		accept("another user", "uid 65534", func() error {
			command := exec.Command("bash", "-c", `exec 3<>"/dev/tcp/$0/$1" && cat <&3`, host, port)
			command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			command.Dir = "/"
			return command.Run()
		})
	}
}

// TestOperatorUser: the cookie of one user's session is worth nothing to another user, and neither to one who is not known.
func TestOperatorUser(t *testing.T) {
	w := newWorld(t)
	b, _, c := w.visitOperator()
	var user atomic.Value
	user.Store("uid 1000")
	w.operatorConsole.user = func(net.Conn) (string, error) {
		if name := user.Load().(string); name != "" {
			return name, nil
		}
		return "", errNoUser
	}
	if !b.enter(newCode(t, c)) {
		t.Fatal("the code begins no session")
	}
	cookie := b.cookie
	for _, name := range []string{"uid 1001", "uid 100", "", "uid 1000"} {
		user.Store(name)
		for _, path := range operatorPages {
			b.cookie = cookie
			response, body := b.get(path)
			out := response.StatusCode == http.StatusSeeOther && strings.HasSuffix(response.Header.Get("Location"), "/sign-in")
			if name == "" {
				out = response.StatusCode == http.StatusForbidden
			}
			if out == (name == "uid 1000") || out && strings.Contains(body, "All keys") {
				t.Errorf("%s of %q is answered %d %s: %s", path, name, response.StatusCode, response.Header.Get("Location"), body)
			}
		}
	}
}
