package intent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gowebpki/jcs"

	"bailiff/fuzz/kit/vectors"
	"bailiff/vm/slot"
)

// withValue returns a request that has value, which is JSON text, as intent.metadata.v.
func withValue(value string) []byte {
	return []byte(shared + `"intent":{"action":"x","metadata":{"v":` + value + `}}}`)
}

// stricter are the tests of JSONTestSuite that every parser must accept and this one refuses, with the reason.
var stricter = map[string]string{
	"y_number.json":                          "123e65 is an integer beyond 2^53-1",
	"y_number_real_capital_e.json":           "1E22 is an integer beyond 2^53-1",
	"y_number_real_exponent.json":            "123e45 is an integer beyond 2^53-1",
	"y_number_real_fraction_exponent.json":   "123.456e78 is an integer beyond 2^53-1",
	"y_object_duplicated_key.json":           "a key occurs twice",
	"y_object_duplicated_key_and_value.json": "a key occurs twice",
	"y_object_extreme_numbers.json":          "1.0e+28 is an integer beyond 2^53-1",
}

// TestJSONTestSuite runs every test as the value of a member of metadata, and as a whole body.
func TestJSONTestSuite(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(vectors.Path(t, "json-test-suite/test_parsing"), "*.json"))
	if err != nil || len(files) < 300 {
		t.Fatalf("only %d files: %v", len(files), err)
	}
	decoder := NewDecoder(Options{})
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		_, whole := decoder.Decode(text)
		if whole == nil {
			t.Errorf("%s is accepted as a request", name)
		}
		_, err = decoder.Decode(withValue(string(text)))
		_, refused := stricter[name]
		switch {
		case name[0] == 'y' && (err != nil) != refused:
			t.Errorf("%s: refused is %v, want %v: %v", name, err != nil, refused, err)
		case name[0] == 'n' && err == nil:
			t.Errorf("%s is accepted as a value: %q", name, text)
		case name[0] == 'i' && err == nil && !utf8.Valid(text):
			t.Errorf("%s is accepted and is no UTF-8", name)
		}
	}
}

// TestCanonicalVectors compares with the published test vectors of RFC 8785.
func TestCanonicalVectors(t *testing.T) {
	folder := vectors.Path(t, "jcs/testdata")
	for _, name := range []string{"arrays", "french", "structures", "unicode", "values", "weird"} {
		input := readFile(t, filepath.Join(folder, "input", name+".json"))
		output := readFile(t, filepath.Join(folder, "output", name+".json"))
		if name == "values" {
			// These two are numbers that a request can't have; the rest of the vector stays.
			input = strings.Replace(input, "333333333.33333329, 1E30, ", "", 1)
			output = strings.Replace(output, "333333333.3333333,1e+30,", "", 1)
		}
		in, err := NewDecoder(Options{}).Decode(withValue(input))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := `{"agentId":"a","intent":{"action":"x","metadata":{"v":` + strings.TrimSpace(output) + `}},"v":2}`
		if got := string(in.Canonical(nil, nil)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestNumbers lists the numbers that are accepted, with their canonical text, and those that are not ("").
func TestNumbers(t *testing.T) {
	for raw, want := range map[string]string{
		"0": "0", "-0": "0", "-0.0": "0", "0e5": "0", "0.000": "0", "-0e-99999": "0",
		"0e99999999999999999999": "0", "0e-99999999999999999999": "0",
		"1": "1", "-1": "-1", "1.0": "1", "1.50": "1.5", "10e-1": "1", "1E+2": "100", "1e2": "100",
		"0.1": "0.1", "0.10": "0.1", "1e-1": "0.1", "0.30000000000000004": "0.30000000000000004",
		"123456789012345": "123456789012345", "-123456789012345": "-123456789012345",
		"9007199254740991": "9007199254740991", "-9007199254740991": "-9007199254740991",
		"9007199254740991.0": "9007199254740991", "90071992547409910e-1": "9007199254740991",
		"1e-7": "1e-7", "0.0000001": "1e-7", "0.000001": "0.000001", "5e-324": "5e-324", "2.5e-8": "2.5e-8",
		"0." + strings.Repeat("0", 300) + "1":    "1e-301",
		"1" + strings.Repeat("0", 300) + "e-300": "1",
		"1." + strings.Repeat("0", 500):          "1",

		"9007199254740992": "", "-9007199254740992": "", "9007199254740993": "", "1e16": "", "1e22": "", "1e400": "",
		"12345678901234567890": "", "0.12345678901234567890": "", "0.1000000000000000000001": "",
		"1e-400": "", "4e-324": "", "333333333.33333329": "", "9007199254740991.5": "", "0.30000000000000005": "",
		"1e99999999999999999999": "", "1e-99999999999999999999": "", "9007199254740990.75": "",
		"1." + strings.Repeat("0", 500) + "1": "",
	} {
		in, err := NewDecoder(Options{}).Decode(withValue(raw))
		if (err == nil) != (want != "") {
			t.Errorf("%.40s: error is %v", raw, err)
			continue
		}
		if want != "" {
			if got := in.Node(slot.Metadata).Member("v").Text(); got != want {
				t.Errorf("%.40s is %s, want %s", raw, got, want)
			}
			if theirs, err := jcs.Transform([]byte("[" + raw + "]")); err != nil || string(theirs) != "["+want+"]" {
				t.Errorf("%.40s is %s by another implementation: %v", raw, theirs, err)
			}
		}
	}
}

// TestDepth holds the bound on nesting to the number that it names.
func TestDepth(t *testing.T) {
	decoder := NewDecoder(Options{})
	for _, shape := range []struct{ open, close string }{{"[", "]"}, {`{"a":`, "}"}} {
		inner := maxDepth - 3 // below the body, intent and metadata
		for _, more := range []int{0, 1} {
			levels := inner + more
			body := withValue(strings.Repeat(shape.open, levels) + "1" + strings.Repeat(shape.close, levels))
			if _, err := decoder.Decode(body); (err != nil) != (more > 0) {
				t.Errorf("%d levels of %q: %v", levels+3, shape.open, err)
			}
		}
	}
}

// TestSize holds the bound on the body, and shows that a huge one leaves the decoder small.
func TestSize(t *testing.T) {
	decoder := NewDecoder(Options{})
	frame := len(withValue(`[]`))
	fitting := withValue("[" + strings.Repeat("1,", (MaxBody-frame)/2-1) + "1" + "]" + " ")
	fitting = append(fitting, strings.Repeat(" ", MaxBody-len(fitting))...)
	in, err := decoder.Decode(fitting)
	if err != nil || len(fitting) != MaxBody {
		t.Fatalf("%d bytes: %v", len(fitting), err)
	}
	in.Hash(nil)
	if _, err := decoder.Decode(append(fitting, ' ')); err == nil || err.(*Error).Code != "SVC_BODY_TOO_LARGE" {
		t.Errorf("one byte more: %v", err)
	}
	if _, err := decoder.Decode([]byte(evmBody)); err != nil {
		t.Fatal(err)
	}
	if cap(decoder.intent.nodes) > keptNodes || cap(decoder.intent.body) > keptBytes || cap(decoder.intent.form) > keptBytes {
		t.Error("the decoder keeps the memory of a huge body")
	}
}
