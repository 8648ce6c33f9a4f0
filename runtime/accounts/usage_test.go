package accounts

import (
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"testing"
	"time"
)

// TestBill is the price list.
func TestBill(t *testing.T) {
	for _, row := range []struct {
		hosted                 bool
		environment, plan      string
		count                  uint64
		overage                uint64
		fee, overageUSD, total string
	}{
		{true, service.Production, "developer", 1_000, 0, "0.000", "0.000", "0.000"},
		{true, service.Production, "growth", 10_000, 0, "49.000", "0.000", "49.000"},
		{true, service.Production, "growth", 10_001, 1, "49.000", "0.002", "49.002"},
		{true, service.Production, "growth", 1_234_567, 1_224_567, "49.000", "2449.134", "2498.134"},
		{true, service.Production, "enterprise", 1_234_567, 0, "", "0.000", ""},
		{true, service.Test, "growth", 10_001, 0, "0.000", "0.000", "0.000"},
		{false, service.Production, "growth", 10_001, 0, "0.000", "0.000", "0.000"},
	} {
		accounts := New(service.New(service.Config{Hosted: row.hosted}), Config{})
		key := &ledger.Key{Tier: row.plan, Environment: row.environment}
		got := accounts.bill(key, []ledger.Usage{{Month: 12*2026 + 9, Count: 5}, {Month: 12*2026 + 10, Count: row.count}}, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
		if got.Allowed != row.count || got.Overage != row.overage || got.FeeUSD != row.fee || got.OverageUSD != row.overageUSD || got.AmountUSD != row.total {
			t.Errorf("%+v: %+v", row, got)
		}
	}
}
