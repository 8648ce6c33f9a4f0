// Package bench measures the service and its parts, each beside a floor: the least that the same work can cost. Only
// figures of one run compare, since a shared machine's speed drifts by half and more from hour to hour.
//
// The Go benchmarks are the test files of this folder (make bench); bench/http drives the running service over
// loopback (make bench-http); bench/peers, a module of its own, has other policy engines judge the same rules, and
// bench/servers other servers (make bench-peers); bench/scale says what many idle keys cost (make bench-scale).
// RESULTS.md holds what they gave, and what it means.
package bench
