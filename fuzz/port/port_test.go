package port

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestFree: the port can be listened on, differs from one call to the next, and is not one that the system gives away.
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
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		t.Skip("only Linux says which ports it gives away")
	}
	if first, err := strconv.Atoi(strings.Fields(string(text))[0]); err != nil || first < highest {
		t.Skipf("this machine gives away ports from %d (%v)", first, err)
	}
}
