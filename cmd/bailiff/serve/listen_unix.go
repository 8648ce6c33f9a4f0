package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"

	"bailiff/httpd"
	"bailiff/httpd/strict"
)

// listenUnix listens on the Unix socket at a path, for those to whom mode gives write permission. A socket that a process
// left is replaced; one that somebody listens on is not.
func listenUnix(path string, mode fs.FileMode) (net.Listener, error) {
	if err := CheckSocketPath(path); err != nil {
		return nil, err
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	defer syscall.Umask(syscall.Umask(int(0o777 &^ mode)))
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false)
	made, err := os.Lstat(path)
	if err != nil {
		listener.Close()
		return nil, err
	}
	return &unixListener{listener, path, made}, nil
}

// removeStale removes a socket on which no process listens.
func removeStale(path string) error {
	connection, err := net.Dial("unix", path)
	switch {
	case err == nil:
		connection.Close()
		return fmt.Errorf("another process listens on %s; stop it, or choose another path", path)
	case errors.Is(err, syscall.ENOENT):
		return nil
	case !errors.Is(err, syscall.ECONNREFUSED):
		return err
	}
	return os.Remove(path)
}

// A unixListener accepts connections whose peers are named by their users. When it is closed it first removes its socket, so
// that there are no new connections, and then gives Accept the time to return those that were made before.
type unixListener struct {
	*net.UnixListener
	path string
	made fs.FileInfo
}

// Accept implements net.Listener.
func (l *unixListener) Accept() (net.Conn, error) {
	connection, err := l.AcceptUnix()
	if err != nil {
		return nil, err
	}
	return peerConn{connection, peerOf(connection)}, nil
}

// Close implements net.Listener. It is called once.
func (l *unixListener) Close() error {
	if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.made) { // not one that another has put there
		if os.Remove(l.path) == nil {
			time.Sleep(strict.AcceptTime)
		}
	}
	return l.UnixListener.Close()
}

// A peerConn is a connection whose other end is named by its user.
type peerConn struct {
	*net.UnixConn
	peer httpd.UnixPeer
}

// RemoteAddr implements net.Conn.
func (c peerConn) RemoteAddr() net.Addr { return c.peer }

// maxSocketPath is the longest path of a Unix socket on Linux, in bytes.
const maxSocketPath = 107

// CheckSocketPath says why a socket can't be made at a path.
func CheckSocketPath(path string) error {
	if len(path) > maxSocketPath {
		return fmt.Errorf("its path %s has %d bytes, and %d are the most; use a shorter SVC_DATA_DIR or SVC_LISTEN_UNIX", path, len(path), maxSocketPath)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("%s exists and is not a socket; move it elsewhere", path)
	}
	return nil
}
