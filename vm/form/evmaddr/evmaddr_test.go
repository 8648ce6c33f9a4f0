package evmaddr

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"bailiff/fuzz/kit/seed"
)

// examples are those of EIP-55, spelled with their checksums.
var examples = []string{
	"0x52908400098527886E0F7030069857D2E4169EE7",
	"0x8617E340B3D01FA5F11F306F4090FD50E238070D",
	"0xde709f2102306220921060314715629080e2fb77",
	"0x27b1fdb04752bbc536007a920d24acb045561c26",
	"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
	"0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
	"0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
	"0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
}

func TestNormalizeExamples(t *testing.T) {
	for _, text := range examples {
		lower := strings.ToLower(text)
		for _, spelling := range []string{text, lower, "0x" + strings.ToUpper(text[2:])} {
			if got, err := Normalize(spelling); err != nil || got != lower {
				t.Errorf("Normalize(%q) = %q, %v; want %q", spelling, got, err, lower)
			}
		}
		if got := Checksum(lower); got != text {
			t.Errorf("Checksum(%q) = %q, want %q", lower, got, text)
		}
	}
}

func TestNormalizeRefuses(t *testing.T) {
	mixed := examples[4]
	for _, test := range []struct {
		text string
		want error
	}{
		{"", errSyntax}, {"0x", errSyntax}, {mixed[2:], errSyntax}, {"0X" + mixed[2:], errSyntax}, {mixed + "0", errSyntax},
		{mixed[:41], errSyntax}, {" " + mixed, errSyntax}, {mixed + " ", errSyntax}, {mixed[:41] + "g", errSyntax}, {mixed[:41] + "/", errSyntax},
		{mixed[:41] + "@", errSyntax}, {mixed[:41] + "`", errSyntax}, {mixed[:41] + ":", errSyntax}, {mixed[:40] + "é", errSyntax},
		{mixed[:41] + "D", ErrChecksum}, {"0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed", ErrChecksum},
	} {
		if got, err := Normalize(test.text); !errors.Is(err, test.want) {
			t.Errorf("Normalize(%q) = %q, %v; want %v", test.text, got, err, test.want)
		}
	}
	if got := Checksum(mixed); got != mixed {
		t.Errorf("Checksum of a text that is not lower case: %q", got)
	}
}

func TestLiterals(t *testing.T) {
	a, b := examples[4], examples[0]
	for _, test := range []struct {
		text string
		want []Span
	}{
		{"", nil}, {a, []Span{{0, 42}}}, {"x" + a + "," + b + ".", []Span{{1, 43}, {44, 86}}}, {a + "0", nil}, {a + "f", nil},
		{a + "g", []Span{{0, 42}}}, {a + b, nil}, {"f" + a, nil}, {a + "-" + b, []Span{{0, 42}, {43, 85}}}, {"0x0x" + a[2:], []Span{{2, 44}}}, {"0X" + a[2:], nil},
		{"0x" + strings.Repeat("0", 64), nil}, {"0x", nil}, {a[:41], nil},
	} {
		if got := slices.Collect(Literals(test.text)); !slices.Equal(got, test.want) {
			t.Errorf("Literals(%q) = %v, want %v", test.text, got, test.want)
		}
	}
	for range Literals(a + " " + b) {
		break
	}
	if got, want := FoldLiterals("To "+a+" OR 0xAB"), "To "+strings.ToLower(a)+" OR 0xAB"; got != want {
		t.Errorf("FoldLiterals: %q, want %q", got, want)
	}
}

// addresses generates lower-case addresses.
func addresses() gopter.Gen {
	return gen.SliceOfN(40, gen.OneConstOf("0", "1", "8", "9", "a", "b", "e", "f")).Map(func(digits []string) string {
		return "0x" + strings.Join(digits, "")
	})
}

// flip changes the case of the letter at i, counted from the first digit, if there is one.
func flip(text string, i int) string {
	c := text[2+i]
	if c >= 'A' {
		c ^= 0x20
	}
	return text[:2+i] + string(c) + text[3+i:]
}

// onlyTheChecksum holds for a normalizer that, of all spellings with one letter's case changed, accepts none but
// those of one case.
func onlyTheChecksum(normalize func(string) (string, error)) func(string, int) bool {
	return func(lower string, i int) bool {
		spelling := Checksum(lower)
		if got, err := normalize(spelling); err != nil || got != lower {
			return false
		}
		flipped := flip(spelling, i)
		digits := flipped[2:]
		oneCase := digits == strings.ToLower(digits) || digits == strings.ToUpper(digits)
		_, err := normalize(flipped)
		return (err == nil) == (oneCase || flipped == spelling)
	}
}

func TestProperties(t *testing.T) {
	properties := gopter.NewProperties(seed.Parameters(t, 2000))
	properties.Property("one wrong case is noticed", prop.ForAll(onlyTheChecksum(Normalize), addresses(), gen.IntRange(0, 39)))
	properties.TestingRun(t)
}

// TestPropertiesCanFail shows that the property notices a normalizer that looks at no checksum.
func TestPropertiesCanFail(t *testing.T) {
	careless := func(text string) (string, error) { return strings.ToLower(text), nil }
	if result := prop.ForAll(onlyTheChecksum(careless), addresses(), gen.IntRange(0, 39)).Check(seed.Parameters(t, 2000)); result.Passed() {
		t.Error("a normalizer without checksums passed")
	}
}

func TestNoAllocations(t *testing.T) {
	lower := strings.ToLower(examples[4])
	if n := testing.AllocsPerRun(100, func() { Normalize(lower); FoldLiterals(lower) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func FuzzNormalize(f *testing.F) {
	for _, text := range append(slices.Clone(examples), "0x", "x"+examples[0]+"0", examples[1]+","+examples[2]) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if normal, err := Normalize(text); err == nil {
			again, err := Normalize(normal)
			if err != nil || again != normal || !strings.EqualFold(normal, text) || !IsLiteral(text) {
				t.Fatalf("Normalize(%q) = %q, then %q, %v", text, normal, again, err)
			}
		}
		if folded := FoldLiterals(text); FoldLiterals(folded) != folded || len(folded) != len(text) {
			t.Fatalf("FoldLiterals(%q) = %q", text, folded)
		}
	})
}

func BenchmarkNormalize(b *testing.B) {
	for name, text := range map[string]string{"lower": examples[2], "checksum": examples[4]} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Normalize(text)
			}
		})
	}
}
