// Package bench measures the service and its parts, each beside a floor: the least that the same work can cost. Only
// figures of one run compare, since a shared machine's speed drifts by half and more from hour to hour.
//
// The Go benchmarks are the test files of this folder (make bench). The commands below it measure one thing each:
// bench/http the running service over loopback (make bench-http), bench/store the same over PostgreSQL (make bench-store),
// bench/peers, a module of its own, other policy engines by the same rules, bench/servers other servers (make bench-peers),
// bench/signers, another module, two libraries that sign with ML-DSA-65 (make bench-signers),
// bench/scale many idle keys (make bench-scale), bench/hook and bench/mcp what a coding agent and an MCP client wait,
// bench/console the console on a large log, and bench/worst the service under attack. bench/load, bench/player,
// bench/processor, bench/decider and bench/figures are what these share. RESULTS.md has the results, and says what they mean.
package bench
