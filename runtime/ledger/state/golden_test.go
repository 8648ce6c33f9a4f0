package state

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// The files of these tests were made once. A kind or a form that is added gets further lines; a line that is there never changes,
// because logs of the same bytes exist.

// hexLines calls each with the lines of a file: bytes in hexadecimal, after a word where there is one.
func hexLines(t *testing.T, name string, each func(word, data string)) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		word, digits, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found {
			word, digits = "", word
		}
		data, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		each(word, string(data))
	}
}

// TestGoldenRecords decodes records of every kind, with every field that may be absent both ways, and encodes them again to the
// same bytes.
func TestGoldenRecords(t *testing.T) {
	lines := map[byte]int{}
	hexLines(t, "testdata/records.txt", func(_, data string) {
		var r Record
		if err := r.Decode(data); err != nil {
			t.Errorf("kind %d: %v", data[0], err)
			return
		}
		if again := string(r.Append(nil)); again != data {
			t.Errorf("kind %d is written as %x, and was written as %x", data[0], again, data)
		}
		lines[data[0]]++
	})
	for _, kind := range Descriptions() {
		if lines[kind.Number] == 0 {
			t.Errorf("no line has kind %d (%s %s); add one for each way in which its fields may be absent", kind.Number, kind.Event, kind.About)
		}
	}
}

// TestGoldenHistories applies histories of every kind of record and compares the snapshots at their ends.
func TestGoldenHistories(t *testing.T) {
	s, lsn, histories := New(Secret{1, 2}), uint64(0), 0
	hexLines(t, "testdata/histories.txt", func(word, data string) {
		if word == "snapshot" {
			if got := string(s.AppendSnapshot(nil)); got != data {
				t.Errorf("history %d leads to the snapshot %x, and led to %x", histories, got, data)
			}
			read, err := ReadSnapshot([]byte(data))
			if err != nil || string(read.AppendSnapshot(nil)) != data {
				t.Errorf("the snapshot of history %d is read as something else: %v", histories, err)
			}
			s, lsn, histories = New(Secret{1, 2}), 0, histories+1
			return
		}
		var r Record
		if err := r.Decode(data); err != nil || string(r.Append(nil)) != data {
			t.Fatalf("history %d, record %d: %v", histories, lsn+1, err)
		}
		lsn++
		if err := s.Apply(lsn, &r); err != nil {
			t.Fatalf("history %d: %v", histories, err)
		}
	})
	if histories == 0 || lsn != 0 {
		t.Errorf("%d histories, and %d records after them", histories, lsn)
	}
}
