package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ethereum/go-ethereum/common"
)

// TestRequestBorders: a request may be as large as its bounds say, and no larger.
func TestRequestBorders(t *testing.T) {
	of := func(id, method, params string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":[` + params + `]}`
	}
	fill := func(n int) string { return strings.Repeat("a", n) }
	usual := of("1", "m", "")
	for name, c := range map[string]struct{ text, said string }{
		"the longest body":       {usual + strings.Repeat(" ", MaxBody-len(usual)), ""},
		"a longer body":          {usual + strings.Repeat(" ", MaxBody-len(usual)+1), fmt.Sprintf("the body has %d bytes; %d are the most", MaxBody+1, MaxBody)},
		"the longest id":         {of(`"`+fill(maxID-2)+`"`, "m", ""), ""},
		"a longer id":            {of(`"`+fill(maxID-1)+`"`, "m", ""), "id has 257 bytes; 256 are the most"},
		"the longest method":     {of("1", fill(maxMethod), ""), ""},
		"a longer method":        {of("1", fill(maxMethod+1), ""), "a string of 1 to 128 bytes"},
		"no method":              {of("1", "", ""), "a string of 1 to 128 bytes"},
		"the most parameters":    {of("1", "m", "1"+strings.Repeat(",1", maxParams-1)), ""},
		"more parameters":        {of("1", "m", "1"+strings.Repeat(",1", maxParams)), "params has 17 members; 16 are the most"},
		"a name twice":           {of("1", "m", `{"a":1,"a":2}`), "duplicate"},
		"a name twice, deeper":   {of("1", "m", `[{"b":{"a":1,"a":2}}]`), "duplicate"},
		"a lone surrogate":       {of("1", "m", `"\ud800"`), "surrogate"},
		"two requests":           {usual + usual, "not valid JSON: something follows"},
		"a request that is open": {usual[:len(usual)-1], "not valid JSON"},
		"another closing":        {usual[:len(usual)-1] + "]", "not valid JSON"},
		"no name":                {`{5:1}`, "not valid JSON"},
		"no value":               {`{"id"}`, "not valid JSON"},
		"not UTF-8":              {"{\"id\":\"\xff\"}", "the body is not valid UTF-8"},
		"another version":        {`{"jsonrpc":"1.0","method":"m"}`, `jsonrpc must be "2.0"`},
		"an unknown member":      {`{"jsonrpc":"2.0","method":"m","x":1}`, `"x" is not a member`},
		"a batch":                {"[" + usual + "]", "a batch"},
		"nothing":                {" \t\r\n", "empty"},
		"a string":               {`"a"`, "not a JSON object"},
	} {
		_, err := readCall([]byte(c.text))
		if (err == nil) != (c.said == "") || err != nil && !strings.Contains(err.Error(), c.said) {
			t.Errorf("%s: %v, want %q", name, err, c.said)
		}
	}
}

// TestVersionNames: versions of entry points are written as settings spell them, other numbers as what they are.
func TestVersionNames(t *testing.T) {
	for v, want := range map[Version]string{0: "Version(0)", V06: "0.6", V07: "0.7", V08: "0.8", V08 + 1: "Version(4)"} {
		if got := v.String(); got != want {
			t.Errorf("%d is %s, want %s", v, got, want)
		}
	}
}

// TestReadSize reads a word that is the size of something within a request.
func TestReadSize(t *testing.T) {
	for text, c := range map[string]struct {
		size int
		ok   bool
	}{
		"": {0, true}, "01": {1, true}, "0102": {0x102, true}, "010203": {0x10203, true}, "100000": {MaxBody, true}, "100001": {},
		"01000000": {}, "0100000000": {}, "01" + strings.Repeat("00", 31): {},
	} {
		data := append(bytes.Repeat([]byte{0}, wordBytes-len(text)/2), common.FromHex(text)...)
		size, ok := readSize(append(data, 0xff))
		if ok != c.ok || ok && size != c.size {
			t.Errorf("%s: %d, %t", text, size, ok)
		}
	}
}

// TestPrefunds: an operation pays for its gas, and for that of its paymaster by the rules of its entry point.
func TestPrefunds(t *testing.T) {
	paymaster := append(bytes.Repeat([]byte{7}, common.AddressLength), common.LeftPadBytes([]byte{1, 0}, wordBytes/2)...)
	paymaster = append(append(paymaster, common.LeftPadBytes([]byte{2, 0}, wordBytes/2)...), 9, 9)
	for name, c := range map[string]struct {
		version   Version
		paymaster []byte
		want      int64
	}{
		"0.6":                            {V06, nil, (1000 + 200 + 30) * 3},
		"0.6, with a paymaster":          {V06, paymaster, (1000 + 3*200 + 30) * 3},
		"0.6, with the address zero":     {V06, make([]byte, 20), (1000 + 200 + 30) * 3},
		"0.7":                            {V07, nil, (1000 + 200 + 30) * 3},
		"0.7, with a paymaster's limits": {V07, paymaster, (1000 + 200 + 30 + 256 + 512) * 3},
		"0.8, with a paymaster's limits": {V08, paymaster, (1000 + 200 + 30 + 256 + 512) * 3},
	} {
		op := &UserOperation{Version: c.version, PaymasterAndData: c.paymaster}
		op.CallGas, op.VerificationGas, op.PreVerification, op.MaxFee = big.NewInt(1000), big.NewInt(200), big.NewInt(30), big.NewInt(3)
		if got := op.Prefund(); got.Cmp(big.NewInt(c.want)) != 0 {
			t.Errorf("%s: %s, want %d", name, got, c.want)
		}
	}
}

// TestNativeUnits writes every word of wei, and says of more that it is more.
func TestNativeUnits(t *testing.T) {
	most := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))
	for wei, want := range map[*big.Int]string{
		big.NewInt(0): "0", big.NewInt(1): "0.000000000000000001", big.NewInt(15e17): "1.5",
		most:                                  "115792089237316195423570985008687907853269984665640564039457.584007913129639935",
		new(big.Int).Add(most, big.NewInt(1)): "2^256 wei and more",
	} {
		if got := nativeUnits(wei); got != want {
			t.Errorf("%s wei are %s, want %s", wei, got, want)
		}
	}
}

// TestLargestPrefunds: every bit of a paymaster's limits counts.
func TestLargestPrefunds(t *testing.T) {
	paymaster := bytes.Repeat([]byte{0xff}, common.AddressLength+wordBytes)
	op := &UserOperation{Version: V07, PaymasterAndData: append(paymaster, 9)}
	op.CallGas, op.VerificationGas, op.PreVerification, op.MaxFee = big.NewInt(0), big.NewInt(0), big.NewInt(2), big.NewInt(1)
	if got, want := op.Prefund(), new(big.Int).Lsh(big.NewInt(1), halfBits+1); got.Cmp(want) != 0 {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestAnswerBorders: an answer may be as large as its bound says and no larger, whether it tells its length or not.
func TestAnswerBorders(t *testing.T) {
	const most = 100
	for _, room := range []int{0, 50} {
		for _, size := range []int{0, 1, most - 1, most, most + 1, 3 * firstHeld} {
			for _, length := range []int64{int64(size), -1} {
				body := strings.Repeat("x", size)
				answers := tight(1<<20, 0)
				h := &held{budget: answers, room: room, write: true}
				if err := h.grow(t.Context(), leastHeld); err != nil {
					t.Fatal(err)
				}
				buffer, err := h.read(t.Context(), iotest.OneByteReader(strings.NewReader(body)), length, most)
				name := fmt.Sprintf("%d bytes after %d, with length %d", size, room, length)
				switch {
				case size > most:
					if !errors.Is(err, errTooLarge) {
						t.Errorf("%s: %v", name, err)
					}
				case err != nil:
					t.Errorf("%s: %v", name, err)
				case string(buffer[room:]) != body:
					t.Errorf("%s: read as %q", name, buffer)
				case answers.Held() != int64(cap(buffer)):
					t.Errorf("%s: %d bytes are held for %d", name, answers.Held(), cap(buffer))
				}
				if h.release(); answers.Held() != 0 {
					t.Errorf("%s: %d bytes are held after the release", name, answers.Held())
				}
			}
		}
	}
}

// TestEnlarge: a buffer grows four times, up to the largest answer and a byte; what it had before is given back.
func TestEnlarge(t *testing.T) {
	const room, most = 10, 50_000
	answers := tight(1<<20, 0)
	h := &held{budget: answers, room: room, write: true}
	buffer := bytes.Repeat([]byte("x"), firstHeld)
	for _, want := range []int{4 * firstHeld, room + most + 1} {
		larger, err := h.enlarge(t.Context(), buffer, most)
		if err != nil || len(larger) != want || answers.Held() != int64(want) || !bytes.HasPrefix(larger, buffer) {
			t.Fatalf("%d bytes become %d, want %d; %d are held: %v", len(buffer), len(larger), want, answers.Held(), err)
		}
		buffer = larger
	}
}

// TestAnswerIsCutOff: a body that ends before its length, or with an error, is not an answer.
func TestAnswerIsCutOff(t *testing.T) {
	for _, length := range []int64{-1, 10} {
		h := &held{}
		if _, err := h.read(t.Context(), io.MultiReader(strings.NewReader("x"), iotest.ErrReader(io.ErrUnexpectedEOF)), length, 100); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("length %d: %v", length, err)
		}
	}
	if _, err := new(held).read(t.Context(), strings.NewReader("x"), 2, 100); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("too short: %v", err)
	}
}
