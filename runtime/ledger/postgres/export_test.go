package pgledger

import "testing"

// Empty empties the tables at an address.
func Empty(t *testing.T, url string) {
	t.Helper()
	connectAgain(t, same(t, url)).close()
}
