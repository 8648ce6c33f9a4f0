package match

import "testing"

// TestHeadsAndTails holds heads and tails against looking at each byte.
func TestHeadsAndTails(t *testing.T) {
	const all = "abcdefghijklmnopq"
	for n := range len(all) + 1 {
		head, tail := uint64(0), uint64(0)
		for i := range min(n, 8) {
			head |= uint64(all[i]) << (8 * i)
			tail |= uint64(all[n-1-i]) << (56 - 8*i)
		}
		if got := headWord(all[:n]); got != head || got&headMask(n) != got {
			t.Errorf("the head of %q is %x, not %x", all[:n], got, head)
		}
		if got := tailWord(all[:n]); got != tail || got&tailMask(n) != got {
			t.Errorf("the tail of %q is %x, not %x", all[:n], got, tail)
		}
	}
}
