//go:build race

package e2e

// The service is built with the race detector where the tests are.
func init() { buildFlags, slowness = []string{"-race"}, 10 }
