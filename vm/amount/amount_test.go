package amount

import (
	"errors"
	"math/big"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"bailiff/fuzz/kit/seed"
)

// maxBase is 2^256-1 in decimal.
const maxBase = "115792089237316195423570985008687907853269984665640564039457584007913129639935"

func TestParse(t *testing.T) {
	for _, test := range []struct {
		text     string
		decimals uint8
		want     string // base units
	}{
		{"0", 0, "0"}, {"0", 36, "0"}, {"0.0", 1, "0"}, {"1", 18, "1000000000000000000"}, {"1.5", 6, "1500000"},
		{"5.000000000000000001", 18, "5000000000000000001"}, {"0.000001", 6, "1"}, {"1.000000", 6, "1000000"},
		{"00001", 0, "1"}, {strings.Repeat("0", 126) + ".1", 1, "1"}, {maxBase, 0, maxBase},
		{"1" + strings.Repeat("0", 41), 36, "1" + strings.Repeat("0", 77)},
		{"0." + strings.Repeat("0", 35) + "1", 36, "1"},
		{"115792089237316195423570985008687907853269984665640564039457.584007913129639935", 18, maxBase},
		{"9999999999999999999", 19, "99999999999999999990000000000000000000"}, {"0.0000000000000000001", 36, "100000000000000000"},
		{"99999999999999999999", 0, "99999999999999999999"}, {"99999999999999999.99", 18, "99999999999999999990000000000000000"},
		{"18446744073709551615", 0, "18446744073709551615"}, {"18446744073709551616", 0, "18446744073709551616"},
	} {
		got, err := Parse(test.text, test.decimals)
		if err != nil || got.String() != test.want {
			t.Errorf("Parse(%q, %d) = %v, %v; want %s", test.text, test.decimals, got, err, test.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, test := range []struct {
		text     string
		decimals uint8
		want     error
	}{
		{"", 18, errSyntax}, {".", 18, errSyntax}, {".5", 18, errSyntax}, {"5.", 18, errSyntax}, {"1.2.3", 18, errSyntax},
		{"-1", 18, errSyntax}, {"+1", 18, errSyntax}, {"1e3", 18, errSyntax}, {"1E3", 18, errSyntax}, {"0x1", 18, errSyntax},
		{"1,5", 18, errSyntax}, {"1_000", 18, errSyntax}, {"1 ", 18, errSyntax}, {" 1", 18, errSyntax}, {"1\n", 18, errSyntax},
		{"1\x00", 18, errSyntax}, {"1.5 ", 18, errSyntax}, {"NaN", 18, errSyntax}, {"Infinity", 18, errSyntax}, {"1/2", 18, errSyntax},
		{"１", 18, errSyntax}, {"٣", 18, errSyntax}, {"1:5", 18, errSyntax}, {"1..5", 18, errSyntax}, {"1.-5", 18, errSyntax},
		{"1.0", 0, ErrFraction}, {"1.0000000", 6, ErrFraction}, {"0.0000000000000000001", 18, ErrFraction},
		{"115792089237316195423570985008687907853269984665640564039457584007913129639936", 0, ErrOverflow},
		{"115792089237316195423570985008687907853269984665640564039457.584007913129639936", 18, ErrOverflow},
		{"1" + strings.Repeat("0", 42), 36, ErrOverflow}, {strings.Repeat("9", 128), 0, ErrOverflow},
		{strings.Repeat("0", 129), 0, errLength}, {"1", 37, errDecimals}, {"1", 255, errDecimals},
	} {
		if got, err := Parse(test.text, test.decimals); !errors.Is(err, test.want) || got != (Amount{}) {
			t.Errorf("Parse(%q, %d) = %v, %v; want %v", test.text, test.decimals, got, err, test.want)
		}
		used := FromUint64(7)
		if err := used.Set(test.text, test.decimals); !errors.Is(err, test.want) || !used.IsZero() {
			t.Errorf("Set(%q, %d) leaves %v, %v; want zero, %v", test.text, test.decimals, used, err, test.want)
		}
	}
}

func TestParseBase(t *testing.T) {
	for _, test := range []struct {
		text string
		want error
	}{
		{"0", nil}, {maxBase, nil}, {"007", nil}, {"1.0", errSyntax}, {"1.", errSyntax}, {"", errSyntax}, {"-1", errSyntax},
		{maxBase + "0", ErrOverflow}, {strings.Repeat("1", 129), errLength},
	} {
		if _, err := ParseBase(test.text); !errors.Is(err, test.want) {
			t.Errorf("ParseBase(%q): %v, want %v", test.text, err, test.want)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, test := range []struct {
		base     string
		decimals uint8
		want     string
	}{
		{"0", 0, "0"}, {"0", 18, "0"}, {"1", 18, "0.000000000000000001"}, {"1500000", 6, "1.5"}, {"1000000", 6, "1"},
		{"10", 0, "10"}, {"100", 2, "1"}, {"5000000000000000001", 18, "5.000000000000000001"},
	} {
		a, err := ParseBase(test.base)
		if got := a.Format(test.decimals); err != nil || got != test.want {
			t.Errorf("%s with %d decimals: %q, want %q", test.base, test.decimals, got, test.want)
		}
	}
}

func TestAddOverflows(t *testing.T) {
	most, err := ParseBase(maxBase)
	if err != nil {
		t.Fatal(err)
	}
	if _, overflow := most.Add(FromUint64(1)); !overflow {
		t.Error("2^256-1 + 1 does not overflow")
	}
	if sum, overflow := most.Add(Amount{}); overflow || sum != most || sum.IsZero() {
		t.Errorf("2^256-1 + 0 = %v, overflow %v", sum, overflow)
	}
}

// oracle reads an amount by a regular expression and math/big; ok is false where Parse must refuse.
func oracle(text string, decimals uint8) (want *big.Int, ok bool) {
	parts := decimal.FindStringSubmatch(text)
	if parts == nil || len(text) > MaxText || decimals > MaxDecimals || len(parts[2]) > int(decimals) {
		return nil, false
	}
	digits := parts[1] + parts[2] + strings.Repeat("0", int(decimals)-len(parts[2]))
	want, ok = new(big.Int).SetString(digits, 10)
	return want, ok && want.BitLen() <= 256
}

var decimal = regexp.MustCompile(`^([0-9]+)(?:\.([0-9]+))?\z`)

// agrees returns whether parse says what the oracle says.
func agrees(parse func(string, uint8) (Amount, error)) func(string, uint8) bool {
	return func(text string, decimals uint8) bool {
		got, err := parse(text, decimals)
		want, ok := oracle(text, decimals)
		if !ok || err != nil {
			return !ok && err != nil
		}
		return got.String() == want.String()
	}
}

// texts generates decimals of many lengths, most of them well-formed, and some near 2^256.
func texts() gopter.Gen {
	pieces := gen.OneConstOf("0", "1", "9", "123", "0000", "18446744073709551616", "9999999999999999999", maxBase[:40], ".", ".", "-", "e")
	sequence := gen.SliceOfN(5, pieces).Map(func(parts []string) string { return strings.Join(parts, "") })
	number := gen.SliceOfN(79, gen.NumChar()).FlatMap(func(v any) gopter.Gen {
		digits := string(v.([]rune))
		return gen.IntRange(1, 79).Map(func(n int) string { return digits[:n/2+1] + "." + digits[n/2:n] + "0" })
	}, reflect.TypeFor[string]())
	return gen.OneGenOf(sequence, number, gen.OneConstOf(maxBase, maxBase[:77]+"6", maxBase[:60]+"."+maxBase[60:]))
}

func amounts() gopter.Gen {
	return gen.SliceOfN(4, gen.OneGenOf(gen.UInt64(), gen.OneConstOf(uint64(0), ^uint64(0), uint64(1)))).Map(func(words []uint64) Amount {
		return Amount(words)
	})
}

func toBig(a Amount) *big.Int {
	b := a.Bytes32()
	return new(big.Int).SetBytes(b[:])
}

func TestProperties(t *testing.T) {
	decimals := gen.UInt8Range(0, 38)
	properties := gopter.NewProperties(seed.Parameters(t, 5000))
	properties.Property("Parse agrees with math/big", prop.ForAll(agrees(Parse), texts(), decimals))
	properties.Property("Set agrees with math/big, whatever stood there", prop.ForAll(func(before Amount, text string, decimals uint8) bool {
		return agrees(func(text string, decimals uint8) (Amount, error) {
			a := before
			err := a.Set(text, decimals)
			return a, err
		})(text, decimals)
	}, amounts(), texts(), decimals))
	properties.Property("Cmp, Less and Add agree with math/big", prop.ForAll(func(a, b Amount) bool {
		sum, overflow := a.Add(b)
		want := new(big.Int).Add(toBig(a), toBig(b))
		if overflow != (want.BitLen() > 256) || !overflow && toBig(sum).Cmp(want) != 0 {
			return false
		}
		return a.Cmp(b) == toBig(a).Cmp(toBig(b)) && (a == b) == (a.Cmp(b) == 0) && Less(&a, &b) == (a.Cmp(b) < 0)
	}, amounts(), amounts()))
	properties.Property("texts and bytes lead back", prop.ForAll(func(a Amount, decimals uint8) bool {
		decimals = min(decimals, MaxDecimals)
		human, err1 := Parse(a.Format(decimals), decimals)
		base, err2 := ParseBase(a.String())
		return err1 == nil && err2 == nil && human == a && base == a && FromBytes32(a.Bytes32()) == a && a.String() == toBig(a).String()
	}, amounts(), decimals))
	properties.TestingRun(t)
}

// TestPropertiesCanFail shows that the oracle notices a parser that is wrong in rare cases only.
func TestPropertiesCanFail(t *testing.T) {
	roundsDown := func(text string, decimals uint8) (Amount, error) {
		if _, fraction, _ := strings.Cut(text, "."); len(fraction) > int(decimals) && decimals > 0 {
			text = text[:len(text)-len(fraction)+int(decimals)]
		}
		return Parse(text, decimals)
	}
	if result := prop.ForAll(agrees(roundsDown), texts(), gen.UInt8Range(0, 38)).Check(seed.Parameters(t, 5000)); result.Passed() {
		t.Error("a parser that cuts fractions off passed")
	}
}

func TestNoAllocations(t *testing.T) {
	limit := FromUint64(1)
	if n := testing.AllocsPerRun(100, func() {
		a, _ := Parse("123456789012345678901234567890.123456789012345678", 18)
		Parse("1.5x", 18)
		sum, _ := a.Add(limit)
		sum.Cmp(limit)
		FromBytes32(sum.Bytes32())
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"0", "1.5", ".5", "5.", maxBase, maxBase + ".0", "1e5", "-1", "00.10"} {
		f.Add(text, uint8(18))
	}
	f.Fuzz(func(t *testing.T, text string, decimals uint8) {
		if !agrees(Parse)(text, decimals) {
			got, err := Parse(text, decimals)
			want, ok := oracle(text, decimals)
			t.Fatalf("Parse(%q, %d) = %v, %v; the oracle says %v, %v", text, decimals, got, err, want, ok)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, text := range []string{"0.5", "5.000000000000000001", "1234.567890123456789012", maxBase} {
		b.Run(text[:min(len(text), 8)], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Parse(text, 18)
			}
		})
	}
}

func BenchmarkCmp(b *testing.B) {
	x, y := FromUint64(5), FromUint64(6)
	for b.Loop() {
		x.Cmp(y)
	}
}

// TestParseEveryByte holds that texts of digits, each byte of which is replaced by every byte in turn, and texts of one byte, are read as the
// oracle reads them: digits are read eight at a time.
func TestParseEveryByte(t *testing.T) {
	const digits = "9081726354891706352"
	holds := agrees(Parse)
	for n := 1; n <= len(digits); n++ {
		for c := range 256 {
			if text := strings.Repeat(string([]byte{byte(c)}), n); !holds(text, 18) {
				t.Errorf("%q is read otherwise", text)
			}
			for at := range n {
				if text := digits[:at] + string([]byte{byte(c)}) + digits[at+1:n]; !holds(text, 18) {
					t.Errorf("%q is read otherwise", text)
				}
			}
		}
	}
}
