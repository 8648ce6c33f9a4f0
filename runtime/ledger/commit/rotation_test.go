package commit_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
)

// TestRotation: from a rotation on an earlier key of the operator's deploys, resolves, stops and states nothing, and keys that are
// pinned to it follow to the new one.
func TestRotation(t *testing.T) {
	ctx, at := context.Background(), ledgertest.Start
	one, two, three := [32]byte{1}, [32]byte{2}, [32]byte{3}
	log := memory.NewLog()
	l := open(t, log)
	defer func() { l.Close() }()
	is := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) || want == nil && err != nil {
			t.Fatalf("%s: %v, want %v", what, err, want)
		}
	}
	rotate := func(from, to [32]byte, serial uint64) error {
		q := &ledger.Rotation{From: from, To: to, At: at}
		if serial != 0 {
			q.Signed = &ledger.HaltStatement{Serial: serial, At: at / 1e9, Signature: [64]byte{1}}
		}
		return l.RotateOperator(ctx, q)
	}
	deploy := func(by [32]byte, policy byte) error {
		_, err := l.Deploy(ctx, &ledger.Deployment{Key: ledgertest.ID('k', 1), At: at, Operator: by, PolicyHash: [32]byte{policy}, PolicyVersion: "2.0.0", Text: []byte("t"), Program: []byte("p"), Machine: 1})
		return err
	}
	resolve := func(by [32]byte) error {
		_, err := l.ResolveHold(ctx, ledger.Resolution{Key: ledgertest.ID('k', 1), Hold: ledgertest.ID('h', 0), At: at, Operator: by})
		return err
	}
	is("creating", l.CreateKey(ctx, ledgertest.NewKey(1)), nil)
	is("holding", l.Submit(holding(0, at)).Wait(ctx), nil)
	is("deploying", deploy(one, 1), nil)
	is("to itself", rotate(one, one, 0), ledger.ErrInvalid)
	is("to zeros", rotate(one, [32]byte{}, 0), ledger.ErrInvalid)
	is("rotating", rotate(one, two, 5), nil)
	is("from the key of before", rotate(one, three, 6), ledger.ErrOperator)
	is("the same serial", rotate(two, three, 5), ledger.ErrStatementSerial)
	is("back", rotate(two, one, 6), ledger.ErrInvalid)
	is("deploying by the key of before", deploy(one, 2), ledger.ErrOperator)
	is("deploying by another key", deploy(three, 2), ledger.ErrOperator)
	is("creating another", l.CreateKey(ctx, ledgertest.NewKey(2)), nil)
	_, err := l.Deploy(ctx, &ledger.Deployment{Key: ledgertest.ID('k', 2), At: at, Operator: one, PolicyHash: [32]byte{1}, PolicyVersion: "2.0.0", Text: []byte("t"), Program: []byte("p"), Machine: 1})
	is("deploying by the key of before to a key without a pin", err, ledger.ErrOperator)
	is("resolving by the key of before", resolve(one), ledger.ErrOperator)
	is("freezing by the key of before", l.Halt(ctx, &ledger.Halt{Stop: true, At: at, Operator: one}), ledger.ErrOperator)
	is("stating by the key of before", l.StateApprover(ctx, &ledger.ApproverStatement{Action: ledger.SuspendApprover, Name: "alice", Serial: 1, Operator: one}, at), ledger.ErrOperator)
	is("resolving", resolve(two), nil)
	is("deploying by the new key", deploy(two, 2), nil)
	is("without a statement", rotate(two, three, 0), nil)
	is("deploying by the second key", deploy(two, 3), ledger.ErrOperator)
	is("closing", l.Close(), nil)
	l = open(t, log)
	if got := l.Operators(); got.Serial != 5 || !slices.Equal(got.Keys, [][32]byte{one, two, three}) || got.Current(one) != three || got.Replaced(three) {
		t.Fatalf("after it was opened again: %+v", got)
	}
	is("deploying by the second key after a start", deploy(two, 3), ledger.ErrOperator)
	is("deploying by the third key", deploy(three, 3), nil)
	if last := lastRotation(t, l); last == nil || last.From != two || last.To != three || last.Signed != nil {
		t.Errorf("the last rotation is %+v", last)
	}
}

// lastRotation returns the rotation of the latest event of one.
func lastRotation(t *testing.T, l *commit.Ledger) (last *ledger.Rotation) {
	t.Helper()
	page, err := l.Events(t.Context(), ledger.EventQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Events {
		if e.Rotation != nil {
			last = e.Rotation
		}
	}
	return last
}

// TestRotationsAreBounded: an operator's key is replaced so often, and no more.
func TestRotationsAreBounded(t *testing.T) {
	l := open(t, memory.NewLog())
	defer l.Close()
	key := func(n int) [32]byte { return [32]byte{1, byte(n), byte(n >> 8)} }
	for n := range ledger.MaxRotations {
		if err := l.RotateOperator(t.Context(), &ledger.Rotation{From: key(n), To: key(n + 1), At: 1}); err != nil {
			t.Fatal(n, err)
		}
	}
	if err := l.RotateOperator(t.Context(), &ledger.Rotation{From: key(ledger.MaxRotations), To: key(ledger.MaxRotations + 1), At: 1}); !errors.Is(err, ledger.ErrTooMany) {
		t.Errorf("one more: %v", err)
	}
}
