// Package policy has the commands for authors of policies: init, keygen, sign, verify, check, fmt, explain-code, compile, disasm,
// eval and test. They need no service.
package policy
