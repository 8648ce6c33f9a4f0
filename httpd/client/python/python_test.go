package python

import (
	"testing"

	"bailiff/httpd/client/drive"
)

// TestClient holds the client to what the Go client is held to, with every interpreter there is.
func TestClient(t *testing.T) {
	for _, one := range Interpreters(t, "../../..") {
		t.Run(one.Command[2], func(t *testing.T) { drive.Client(t, one.Command, "../../..", one.MLDSA) })
	}
}
