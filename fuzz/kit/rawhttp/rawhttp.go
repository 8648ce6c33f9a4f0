// Package rawhttp sends requests that no HTTP client would, for tests of what a server makes of them.
package rawhttp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// Statuses writes bytes to a connection and returns the status of every answer, separated by spaces, and "closed" where
// the other end closed it. It returns when the other end has said nothing for a pause.
func Statuses(t testing.TB, address, raw string, pause time.Duration) string {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	go func() { _, _ = io.WriteString(connection, raw) }()
	reader := bufio.NewReader(connection)
	var seen []string
	for {
		_ = connection.SetReadDeadline(time.Now().Add(pause))
		response, err := http.ReadResponse(reader, nil)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return strings.Join(seen, " ")
		}
		if err != nil {
			return strings.Join(append(seen, "closed"), " ")
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		seen = append(seen, fmt.Sprint(response.StatusCode))
	}
}
