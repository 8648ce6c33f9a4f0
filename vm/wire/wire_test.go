package wire

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"bailiff/vm/amount"
)

const longest = 300

// TestValues holds that values are read as they were written, and that nothing but their bytes is read.
func TestValues(t *testing.T) {
	for n := range uint64(1000) {
		b := AppendCount(nil, int(n))
		r := NewReader(append(b, 7), longest)
		if got := r.Uvarint(); got != n || r.Left() != 1 || r.Byte() != 7 || r.Err() != nil {
			t.Errorf("%d is read as %d, %v", n, got, r.Err())
		}
		r = NewReader(binary.AppendVarint(nil, int64(n)-500), longest)
		if got := r.Varint(); got != int64(n)-500 || r.Err() != nil {
			t.Errorf("%d is read as %d, %v", int64(n)-500, got, r.Err())
		}
		text := strings.Repeat("x", int(n))
		for _, flag := range []bool{false, true} {
			r = NewReader(AppendFlagged(AppendText(nil, text), text, flag), longest)
			one := r.Text()
			two, got := r.Flagged()
			if fits := n <= longest; fits != (r.Err() == nil) || fits && (one != text || two != text || got != flag || r.Left() != 0) {
				t.Errorf("a text of %d bytes is read as %d and %d, %v, %v", n, len(one), len(two), got, r.Err())
			}
		}
	}
	for _, a := range []amount.Amount{{}, {1}, {1, 2, 3, 4}, {math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64}} {
		r := NewReader(append(AppendAmount(nil, a), 1, 2), longest)
		if got := r.Amount(); got != a || r.Uint16() != 0x102 || r.Err() != nil || r.Left() != 0 {
			t.Errorf("%v is read as %v, %v", a, got, r.Err())
		}
	}
	if Bit(true) != 1 || Bit(false) != 0 {
		t.Error("a bit is wrong")
	}
}

// TestPadded holds that a number has one encoding.
func TestPadded(t *testing.T) {
	for encoding, want := range map[string]string{
		"": "a number is expected here", "\x80": "a number is expected here", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02": "a number is expected here",
		"\x80\x00": "a number is not in its shortest form", "\xff\x80\x00": "a number is not in its shortest form", "\x00": "", "\x80\x01": "", "\x7f": "",
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01": "",
	} {
		for name, read := range map[string]func(r *Reader){"unsigned": func(r *Reader) { r.Uvarint() }, "signed": func(r *Reader) { r.Varint() }} {
			r := NewReader([]byte(encoding), longest)
			if read(&r); want == "" && (r.Err() != nil || r.Left() != 0) || want != "" && (r.Err() == nil || r.Err().Error() != want) {
				t.Errorf("%s %x: %v, want %q", name, encoding, r.Err(), want)
			}
		}
	}
}

// TestCutOff holds that a value which is cut off is an error, the first of which stays, and that nothing is read after it.
func TestCutOff(t *testing.T) {
	for name, read := range map[string]func(r *Reader) bool{
		"bytes": func(r *Reader) bool { return r.Take(33) == nil }, "two": func(r *Reader) bool { r.Take(31); return r.Uint16() == 0 }, "one": func(r *Reader) bool { r.Take(32); return r.Byte() == 0 },
		"amount": func(r *Reader) bool { r.Take(1); return r.Amount() == amount.Amount{} }, "text": func(r *Reader) bool { return r.Text() == "" },
	} {
		r := NewReader(append([]byte{32}, make([]byte, 31)...), longest)
		if !read(&r) || r.Err() == nil || r.Err().Error() != "the program is cut off" {
			t.Errorf("%s: %v", name, r.Err())
		}
		left := r.Left()
		r.Failf("another error")
		if r.Take(0) != nil || r.Text() != "" || r.Count(1) != 0 || r.Left() != left || r.Err().Error() != "the program is cut off" {
			t.Errorf("%s: after an error %d bytes are read, and it is %v", name, left-r.Left(), r.Err())
		}
	}
	r := NewReader(AppendText(nil, strings.Repeat("x", longest+1)), longest)
	if r.Text() != "" || r.Err() == nil || r.Err().Error() != "a text of 301 bytes: at most 300" {
		t.Errorf("a long text: %v", r.Err())
	}
}

// TestRows holds that a table has as many rows as its bytes may be, and that no room is made for more.
func TestRows(t *testing.T) {
	read := func(r *Reader) [3]byte { return [3]byte(append(r.Take(3), 0, 0, 0)[:3]) }
	for n := range 6 {
		for size := 1; size <= 3; size++ {
			for bytes := range 16 {
				r := NewReader(append(AppendCount(nil, n), make([]byte, bytes)...), longest)
				rows, fits := Rows(&r, size, read), n <= bytes/size
				whole := fits && 3*n <= bytes
				if (r.Err() == nil) != whole || whole && (len(rows) != n || (rows == nil) != (n == 0) || r.Left() != bytes-3*n) || !whole && rows != nil && n > 0 && !fits {
					t.Errorf("%d rows of %d in %d bytes: %d, %v", n, size, bytes, len(rows), r.Err())
				}
				if !fits && !strings.HasSuffix(r.Err().Error(), "bytes follow") {
					t.Errorf("%d rows of %d in %d bytes: %v", n, size, bytes, r.Err())
				}
			}
		}
	}
	r := NewReader(AppendCount(nil, 1<<40), longest)
	if Rows(&r, 1, read) != nil || r.Err() == nil {
		t.Error("many rows are read of no bytes")
	}
	if !bytes.Equal(AppendText(nil, "ab"), []byte("\x02ab")) || !bytes.Equal(AppendFlagged(nil, "ab", true), []byte("\x05ab")) {
		t.Error("a text is written otherwise")
	}
}
