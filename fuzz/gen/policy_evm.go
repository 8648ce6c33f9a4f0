package gen

import (
	"math/big"
	"strconv"
	"strings"
)

// tokens are symbols with their decimals.
var tokens = []struct {
	symbol   string
	decimals int
}{{"USDC", 6}, {"DAI", 18}, {"WBTC", 8}, {"Pts", 0}, {"BIG", 36}, {"usdt", 6}, {"A-B_1", 2}}

func (b *builder) addEVM() {
	s := b.section("evm")
	s.list("allowed_chains", b.r.Some(4, chains...))
	granted := b.r.Some(6, evmActions...)
	if b.r.Chance(5) {
		granted = append(granted, "Wallet.Transfer")
	}
	if b.r.Chance(90) {
		s.list("allowed_actions", granted)
	}
	if s.Find("allowed_actions") == nil || b.may() {
		s.Entries = append(s.Entries, b.chainActions())
	}
	b.nativeLimits(s)
	b.fees(s)
	b.tokenRules(s)
	b.enrichment(s)
	b.common(s, append([]string{"Wallet.*", "token.approve"}, actionPatterns...))
}

// enrichment asks for a shim's account of calls, and then mostly allows calls.
func (b *builder) enrichment(s *Section) {
	if !b.from(2, 1) || !b.r.Chance(20+b.density/2) {
		return
	}
	required := b.r.Pick("true", "true", "true", "false")
	s.scalar("require_calldata_enrichment", required)
	if required == "false" {
		return
	}
	if b.may() {
		s.scalar("calldata_unknown_selector", b.r.Pick("allow", "deny"))
	}
	if actions := s.Find("allowed_actions"); actions != nil && b.r.Chance(70) {
		actions.Values = unique(append(actions.Values, "contract.call"))
	}
}

func (b *builder) chainActions() Entry {
	block := Entry{Key: "chain_actions"}
	for _, chain := range b.r.Some(3, chains...) {
		block.Block = append(block.Block, Entry{Key: b.r.Pick(chain, `"`+chain+`"`, "0"+chain), Values: b.r.Some(4, evmActions...)})
	}
	return block
}

func (b *builder) nativeLimits(s *Section) {
	limit := ""
	if b.r.Chance(40 + b.density/2) {
		limit = b.limit(18)
		s.scalar("max_transaction_eth", limit)
	}
	if b.may() {
		s.scalar("consensus_threshold_eth", b.threshold(limit, 18))
		if b.r.Chance(60) {
			s.scalar("consensus_require_hold", b.r.Pick("true", "true", "false"))
		}
	}
}

// tokenRules adds rules for some tokens, of which no two pin the same address.
func (b *builder) tokenRules(s *Section) {
	if !b.may() {
		return
	}
	mixed := append(tokens[:0:0], tokens...)
	Shuffle(b.r, mixed)
	free := append([]string(nil), addresses...)
	Shuffle(b.r, free)
	for _, token := range mixed[:1+b.r.N(3)] {
		key := "token." + token.symbol + "."
		limit := b.limit(token.decimals)
		s.scalar(key+"decimals", strconv.Itoa(token.decimals))
		s.scalar(key+"max_transaction", limit)
		if b.r.Chance(75) {
			n := 1 + b.r.N(2)
			s.list(key+"addresses", b.chained(free[:n]))
			free = free[n:]
			if b.from(2, 4) && b.may() {
				s.list(key+"methods", b.r.Some(3, "mint(address,uint256)", "pause()", "0x40c10f19", "0xdeadbeef", "multicall(bytes[])"))
			}
		}
		if b.may() {
			s.scalar(key+"consensus_threshold", b.threshold(limit, token.decimals))
		}
	}
}

// fees adds what format 2.4 has about gas, and about calls that run others.
func (b *builder) fees(s *Section) {
	if !b.from(2, 4) {
		return
	}
	if b.may() {
		s.scalar("max_fee_eth", b.limit(18))
	}
	if b.may() {
		s.scalar("paymaster_fees", b.r.Pick("count", "ignore"))
	}
	if b.may() {
		s.scalar("account_calls", b.r.Pick("allow", "deny"))
	}
}

// chained pins some addresses on one chain alone.
func (b *builder) chained(pins []string) []string {
	pins = append([]string(nil), pins...)
	for i := range pins {
		if b.from(2, 4) && b.r.Chance(40) {
			pins[i] = b.r.Pick("1", "10", "8453") + ":" + pins[i]
		}
	}
	return pins
}

// limit returns a positive decimal of at most that many fraction digits: round ones, the smallest, the largest, any.
func (b *builder) limit(decimals int) string {
	switch b.r.N(8) {
	case 0:
		return fixed(big.NewInt(1), decimals)
	case 1:
		return fixed(maximum, decimals)
	case 2:
		return fixed(new(big.Int).SetUint64(b.r.Uint64()>>b.r.N(60)|1), decimals)
	case 3:
		return "0" + strconv.Itoa(1+b.r.N(500))
	}
	if decimals >= 2 {
		return b.r.Pick("0.5", "1", "1.50", "2", "250", "0.25", "100")
	}
	return b.r.Pick("1", "2", "250", "100")
}

// threshold returns a decimal that a limit mostly lets occur.
func (b *builder) threshold(limit string, decimals int) string {
	units, ok := parseFixed(limit, decimals)
	if limit == "" || !ok || b.r.Chance(15) {
		return b.limit(decimals)
	}
	switch b.r.N(3) {
	case 0:
		return limit
	case 1:
		units.Sub(units, big.NewInt(1))
	default:
		units.Rsh(units, 1)
	}
	if units.Sign() == 0 {
		return limit
	}
	return fixed(units, decimals)
}

// maximum is the largest amount, 2^256-1.
var maximum = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))

// fixed writes base units as a decimal.
func fixed(units *big.Int, decimals int) string {
	digits := units.String()
	if missing := decimals + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	if decimals == 0 {
		return digits
	}
	fraction := strings.TrimRight(digits[len(digits)-decimals:], "0")
	whole := digits[:len(digits)-decimals]
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// parseFixed reads a decimal as base units.
func parseFixed(text string, decimals int) (*big.Int, bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	if len(fraction) > decimals {
		return nil, false
	}
	return new(big.Int).SetString(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10)
}
