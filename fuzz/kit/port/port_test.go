package port

import (
	"net"
	"testing"
)

// TestFree: the port can be listened on, and is not one that is taken.
func TestFree(t *testing.T) {
	seen := map[string]bool{}
	for range 20 {
		address, err := FreeAddress()
		if err != nil {
			t.Fatal(err)
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatalf("%s is not free: %v", address, err)
		}
		defer listener.Close()
		if seen[address] {
			t.Errorf("%s was returned while something listens there", address)
		}
		seen[address] = true
	}
}
