package ledgertest

import (
	"context"

	"bailiff/runtime/ledger"
)

// repeatable makes a plan one of a few requests. After time went backwards they are others: whether a decision that
// had expired meanwhile is still known is left open.
func (h *history) repeatable(p *ledger.Plan, arg uint32) {
	life := int64(ledger.ReplayLife)
	if arg>>10%4 == 0 {
		life = 1
	}
	p.Replay = &ledger.Replay{
		ID: [32]byte{byte(arg >> 11 % 3), byte(h.turns), byte(h.turns >> 8)}, Nonce: "n", Expires: h.at + life, Claims: []byte{byte(h.ids)},
	}
}

// bindDefault binds one of three default policies, or none, and mostly makes a request before and again after it.
func (h *history) bindDefault(arg uint32) error {
	d := &ledger.DefaultPolicy{At: h.at, PolicyHash: [32]byte{byte(arg % 4)}, Named: arg>>2%8 == 0}
	if arg>>5%4 != 0 {
		d.Serial = uint64(arg >> 7 % 4)
	}
	request := func() error {
		if arg>>9%4 == 0 {
			return nil
		}
		p := h.plan(arg)
		h.repeatable(p, arg|1<<10)
		return h.submit(p, true)
	}
	if err := request(); err != nil {
		return err
	}
	_, _ = h.parts[0].BindDefault(context.Background(), d)
	return request()
}
