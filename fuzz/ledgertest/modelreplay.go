package ledgertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-cmp/cmp"

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

// readAgain reads a decision that is answered again. It is durable by then.
func (h *history) readAgain(key ledger.ID, lsn uint64) error {
	h.acked = max(h.acked, int(lsn))
	got, err := h.l.Replay(context.Background(), key, lsn)
	if diff := cmp.Diff(*h.model.log[lsn-1].again, got); err != nil || diff != "" {
		return fmt.Errorf("replay of %d, %v (-model +ledger):\n%s", lsn, err, diff)
	}
	return nil
}

// bindDefault binds one of three default policies, or none.
func (h *history) bindDefault(arg uint32) error {
	d := &ledger.DefaultPolicy{At: h.at, PolicyHash: [32]byte{byte(arg % 4)}, Named: arg>>2%8 == 0}
	if arg>>5%4 != 0 {
		d.Serial = uint64(arg >> 7 % 4)
	}
	want, wantErr := h.model.bindDefault(d)
	got, err := h.l.BindDefault(context.Background(), d)
	if diff := cmp.Diff(want, got); !errors.Is(err, wantErr) || wantErr == nil && (err != nil || diff != "") {
		return fmt.Errorf("default policy: %v, the model says %v (-model +ledger):\n%s", err, wantErr, diff)
	}
	switch {
	case err != nil:
		h.reached["default policy refused"]++
	case want.Same:
		h.reached["default policy again"]++
	default:
		h.reached["default policy"]++
		h.record(entry{now: h.at, standard: d}, true)
	}
	return nil
}
