package typescript

import (
	"testing"

	"bailiff/httpd/client/drive"
)

// TestClient holds the client to what the Go client is held to.
func TestClient(t *testing.T) { drive.Client(t, Driver(t), "../../..", true) }
