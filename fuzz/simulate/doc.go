// Package simulate runs the service in a simulated world: ledger, authority, webhooks and gateways under a clock, a disk, a network
// and a scheduler that one seed decides. What runs at once in production is here a step that the seed chooses, so that a seed that
// fails replays exactly, and prints its history.
//
// The service is the real one, from the requests' bodies down to the four methods of a log. Pebble is replaced by a disk that crashes,
// tears and misdirects writes and fails calls; `make crash` covers Pebble. After every step a model holds what the ledger decided,
// and the disk each acknowledged record.
//
// How steps are made one: every goroutine of the service comes from system.Calls.Go, and waits at a gate before it starts and
// wherever it meets the world. The simulator opens one gate, and waits until the Go scheduler has nothing to run (on one processor,
// without garbage collection, so that the order of goroutines that wake each other is the same each time, unless the machine is so busy
// that the Go scheduler interrupts one of them: the kernel notes where that may have happened).
package simulate
