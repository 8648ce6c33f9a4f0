package strict

import (
	"crypto/tls"
	"errors"
	"net"
)

// plainAnswer tells a client that speaks HTTP without TLS what to do.
const plainAnswer = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nthis address speaks TLS: use https://\n"

// NewTLSListener wraps a listener: its connections speak TLS. A client that does not is told so.
func NewTLSListener(inner net.Listener, config *tls.Config) net.Listener {
	return &tlsListener{inner, config}
}

type tlsListener struct {
	net.Listener
	config *tls.Config
}

// Accept implements net.Listener. The handshake is part of the first read, and bound by its deadline.
func (l *tlsListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &tlsConn{tls.Server(accepted, l.config)}, nil
}

type tlsConn struct{ *tls.Conn }

// Read implements net.Conn.
func (c *tlsConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.answerPlain(err)
	}
	return n, err
}

// answerPlain tells a client why its first bytes were not read, where they are the beginning of a request without TLS.
func (c *tlsConn) answerPlain(err error) {
	var header tls.RecordHeaderError
	if !errors.As(err, &header) || header.Conn == nil {
		return
	}
	switch string(header.RecordHeader[:]) {
	case "GET /", "POST ", "HEAD ", "PUT /", "DELET", "OPTIO", "PATCH":
		_, _ = header.Conn.Write([]byte(plainAnswer)) // it may have gone
	}
}

// Secure reports whether a connection that a [Server] accepted speaks TLS.
func Secure(conn net.Conn) bool {
	if kept, ok := conn.(*Conn); ok {
		conn = kept.Conn
	}
	_, secure := conn.(*tlsConn)
	return secure
}
