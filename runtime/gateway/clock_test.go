package gateway

import (
	"testing"

	"bailiff/vm/errcode"
)

// TestClockInDoubt: while the clock is in doubt no attestation is judged, and none is used up.
func TestClockInDoubt(t *testing.T) {
	doubt := true
	b := newBench(t, func(c *Config) { c.ClockDoubt = func() bool { return doubt } })
	raw := sign(t, costing(1), chain)
	token := b.token(b.claims(raw))
	if got := b.send(raw, token); got.Code != errcode.ClockUnconfirmed || got.HTTP != 401 || len(b.node.sent()) != 0 {
		t.Errorf("in doubt: %+v, sent %v", got, b.node.sent())
	}
	doubt = false
	if got := b.send(raw, token); got.Code != "" || len(b.node.sent()) != 1 {
		t.Errorf("confirmed: %+v", got)
	}
}
