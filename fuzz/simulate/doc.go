// Package simulate is the project's deterministic simulation test: it runs ledger, decisions, webhooks and gateways of the service
// under a clock, a disk, a network and a scheduler that one seed decides. What runs at once in production is here a sequence of steps
// that the seed chooses, so that a seed that fails replays exactly, and prints its history.
//
// The service is the real one, from the requests' bodies down to the four methods of a log. Pebble is replaced by a disk that crashes,
// tears and misdirects writes and fails calls; `make crash` covers Pebble. After every step a model holds what the ledger decided,
// and the disk each acknowledged record.
//
// Only one step runs at a time: every goroutine of the service comes from system.Calls.Go, and waits at a gate before it starts and
// wherever it reaches clock, disk or network. The simulator opens one gate, and waits until the Go scheduler has nothing to run. It
// uses one processor and no garbage collection, so that goroutines that wake each other run in the same order each time, unless the
// machine is so busy that the Go scheduler interrupts one of them; the kernel notes where that may have happened.
package simulate
