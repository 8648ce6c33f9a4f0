package gateway

import (
	"math"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// TestScan: a body is UTF-8, does not nest too deep, and has only numbers that every reader takes for the same value.
func TestScan(t *testing.T) {
	nested := func(depth int, open, closed string) string {
		return strings.Repeat(open, depth) + strings.Repeat(closed, depth)
	}
	for text, said := range map[string]string{
		`{"a": [1, -2, "x"], "b": {}}`:   "",
		"\xff":                           "not valid UTF-8",
		`"\\"`:                           "",
		`"\"1e5"`:                        "",
		`["1e5",1e5]`:                    "number 1e5 at byte 7 ",
		`[9007199254740991]`:             "",
		`[9007199254740992]`:             "number 9007199254740992 at byte 1 ",
		`[-9007199254740991]`:            "",
		`[-9007199254740992]`:            "number -9007199254740992 at byte 1 ",
		`[0.12345678901234]`:             "",
		`[0.123456789012345]`:            "number 0.123456789012345 at byte 1 ",
		`[-0.12345678901234]`:            "",
		`[5E1]`:                          "number 5E1 at byte 1 ",
		`[1+1]`:                          "",
		`[01e1]`:                         "number 01e1 at byte 1 ",
		`[1e+5]`:                         "number 1e+5 at byte 1 ",
		`[1e-5]`:                         "number 1e-5 at byte 1 ",
		`[-1.5]`:                         "",
		nested(maxDepth, "[", "]"):       "",
		nested(maxDepth+1, "[", "]"):     "nests deeper than 32",
		nested(maxDepth, `{"a":`, "}"):   "",
		nested(maxDepth+1, `{"a":`, "}"): "nests deeper",
		"[" + strings.Repeat("[],{},", maxDepth) + "1]":       "",
		"[" + strings.Repeat(`[1],{"a":2},`, maxDepth) + "1]": "",
		`[1`:    "",
		`["a`:   "",
		`["a\\`: "",
	} {
		err := scan([]byte(text))
		if (err == nil) != (said == "") || err != nil && !strings.Contains(err.Error(), said) {
			t.Errorf("%.60s: %v, want %q", text, err, said)
		}
	}
}

// TestUsualHeaders: the short way is taken for the headers that it knows, as a whole, and for no others.
func TestUsualHeaders(t *testing.T) {
	const first = "HTTP/1.1 200 OK\r\n"
	for text, want := range map[string]int{
		first + "Content-Length: 12\r\n\r\n":                                                12,
		first + "content-length:0\r\n\r\nbody":                                              0,
		first + "X-09-azAZ: ~ \t\r\nContent-Length:\t12 \r\nConnection: Keep-Alive\r\n\r\n": 12,
		first + "Content-Length: 2147483647\r\n\r\n":                                        math.MaxInt32,
		first + "Content-Length: 2147483648\r\n\r\n":                                        -1,
		first + "Content-Length: 12\r\n":                                                    -1,
		first + "Content-Length: 12\r\nContent-Length: 12\r\n\r\n":                          -1,
		first + "Content-Length: 0\r\nContent-Length: 0\r\n\r\n":                            -1,
		first + "Content-Length: -1\r\n\r\n":                                                -1,
		first + "\r\n":                                                                      -1,
		first + "Content-Length: 12\r\nConnection: close\r\n\r\n":                           -1,
		first + "Content-Length: 12\r\nTransfer-Encoding: chunked\r\n\r\n":                  -1,
		first + "Content-Length: 12\r\nno colon\r\n\r\n":                                    -1,
		first + "Content-Length: 12\r\nX\r\n\r\n":                                           -1,
		first + "Content-Length: 12\r\n: none\r\n\r\n":                                      -1,
		first + "Content-Length: 12\r\nA:\x1f\r\n\r\n":                                      -1,
		first + "Content-Length: 12\r\nA:a b\r\n\r\n":                                       12,
		first + "Content-Length: 12\r\nA:a\x7f\r\n\r\n":                                     -1,
		first + "Content-Length: 12\r\nA/: a\r\n\r\n":                                       -1,
		first + "Content-Length: 12\r\nA:: a\r\n\r\n":                                       12,
		first + "Content-Length: 12\r\nA@: a\r\n\r\n":                                       -1,
		first + "Content-Length: 12\r\nA[: a\r\n\r\n":                                       -1,
		first + "Content-Length: 12\r\nA{: a\r\n\r\n":                                       -1,
		first + "Content-Length: 12\r\nA : a\r\n\r\n":                                       -1,
		"HTTP/1.1 201 OK\r\nContent-Length: 12\r\n\r\n":                                     -1,
		"HTTP/1.0 200 OK\r\nContent-Length: 12\r\n\r\n":                                     -1,
		"HTTP/1.1 200 O\nK\r\nContent-Length: 12\r\n\r\n":                                   -1,
	} {
		header, _, _ := strings.Cut(text, "\r\n\r\n")
		end, length := usualHeader([]byte(text))
		if want >= 0 && (end != len(header)+4 || length != want) || want < 0 && end != 0 {
			t.Errorf("%q: ends at %d, a body of %d, want %d", text, end, length, want)
		}
	}
}

// TestReadAnswers: an answer has the id of the request and one outcome, and one that is there as null does not count.
func TestReadAnswers(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":1,"result":5}`:                         "result 5",
		`{"id":1,"result":null}`:                      "result null",
		`{"id":1,"result":5,"error":null}`:            "result 5",
		`{"id":1,"error":{"code":1}}`:                 `error {"code":1}`,
		`{"id":1,"result":null,"error":{"code":1}}`:   `error {"code":1}`,
		`{"id":1,"result":5,"error":{"code":1}}`:      "two outcomes",
		`{"id":1,"error":"no"}`:                       "not an object",
		`{"id":1,"error":[1]}`:                        "not an object",
		`{"id":1,"error":null}`:                       "neither result nor error",
		`{"id":1}`:                                    "neither result nor error",
		`{"id":2,"result":5}`:                         "another request's",
		`{"result":5}`:                                "no id",
		`{"id":1,"result":5} `:                        "result 5",
		`{"id":1,"result":5}x`:                        "JSON",
		`{"id":1,"result":5`:                          "JSON",
		`{"id":1,"result":}`:                          "JSON",
		`[]`:                                          "it is not a JSON object",
		``:                                            "it is not a JSON object",
		`{"id":1,"a":1,"a":2,"result":{"b":1,"b":2}}`: `result {"b":1,"b":2}`,
		`{"id":1,"result":5,"a`:                       "it is not valid JSON",
		`{"id":1,"result":5]`:                         "it is not valid JSON",
	} {
		name, value, err := readAnswer([]byte(text))
		if got := name + " " + string(value); err == nil && got != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
}

// TestIntrinsicGas adds up what a transaction costs before it is executed: 21,000; 4 and 16 a byte; 2,400 an address and 1,900 a
// key of its list; for a creation 32,000 and 2 a word.
func TestIntrinsicGas(t *testing.T) {
	to := common.Address{1}
	for name, c := range map[string]struct {
		tx   types.AccessListTx
		want uint64
	}{
		"nothing":         {types.AccessListTx{To: &to}, 21_000},
		"bytes":           {types.AccessListTx{To: &to, Data: []byte{0, 0, 1}}, 21_024},
		"an access list":  {types.AccessListTx{To: &to, AccessList: types.AccessList{{StorageKeys: make([]common.Hash, 2)}, {}}}, 21_000 + 2*2400 + 2*1900},
		"a creation":      {types.AccessListTx{Data: []byte{1}}, 21_000 + 16 + 32_000 + 2},
		"of a word":       {types.AccessListTx{Data: make([]byte, 32)}, 21_000 + 32*4 + 32_000 + 2},
		"of two words":    {types.AccessListTx{Data: make([]byte, 33)}, 21_000 + 33*4 + 32_000 + 4},
		"the longest":     {types.AccessListTx{Data: make([]byte, 49_152)}, 21_000 + 49_152*4 + 32_000 + 1536*2},
		"one that is too": {types.AccessListTx{Data: make([]byte, 49_153)}, math.MaxUint64},
	} {
		if got := intrinsicGas(types.NewTx(&c.tx)); got != c.want {
			t.Errorf("%s costs %d, want %d", name, got, c.want)
		}
	}
}
