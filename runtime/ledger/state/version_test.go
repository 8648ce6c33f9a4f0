package state

import (
	"encoding/binary"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"bailiff/runtime/ledger"
	"bailiff/runtime/subject"
)

// TestVersion1 reads records as releases before version 2 wrote them, one of each kind. The file is never written anew: logs
// have such records for good, and their bytes are in the chain of hashes.
func TestVersion1(t *testing.T) {
	text, err := os.ReadFile("testdata/version1.txt")
	if err != nil {
		t.Fatal(err)
	}
	found := map[byte]bool{}
	for line := range strings.Lines(string(text)) {
		data, err := hex.DecodeString(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		var r Record
		if err := r.Decode(string(data)); err != nil {
			t.Errorf("kind %d: %v", data[0], err)
			continue
		}
		if string(r.Append(nil)) != string(data) || !r.Event.Subject.IsZero() {
			t.Errorf("kind %d is written as something else by now", data[0])
		}
		found[data[0]] = true
	}
	for number := byte(1); number < 25; number++ {
		if written := number < 17 || number > 19; found[number] != written { // 17 to 19 were never written
			t.Errorf("kind %d is in the file: %v", number, found[number])
		}
	}
}

// TestVersion2: a record with a subject has all that one of version 1 has, and the subject.
func TestVersion2(t *testing.T) {
	text, err := os.ReadFile("testdata/version1.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		data, err := hex.DecodeString(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		var old, read Record
		if err := old.Decode(string(data)); err != nil {
			t.Fatal(err)
		}
		want := map[ledger.Kind]byte{ledger.Decided: 25, ledger.Simulated: 26}[old.Kind]
		if want == 0 {
			continue
		}
		old.Event.Subject.Set(subject.Path, "/srv")
		old.Event.Subject.Further[subject.Path] = 2
		again := old.Append(nil)
		if err := read.Decode(string(again)); err != nil || again[0] != want || read.Event.Subject != old.Event.Subject {
			t.Errorf("kind %d is written as %d and read with the subject %v, %v", data[0], again[0], read.Event.Subject, err)
			continue
		}
		read.Event.Subject = subject.Subject{}
		if string(read.Append(nil)) != string(data) {
			t.Errorf("kind %d lost something beside its subject", data[0])
		}
	}
}

// TestDecodeRefusesSubjects gives Decode subjects that Append never writes.
func TestDecodeRefusesSubjects(t *testing.T) {
	head := strings.Repeat("k", 16) + "\x05"
	event := strings.Repeat("p", 16) + "\x01\x04\x00" + strings.Repeat("\x00", 6) + "\x00\x00" + strings.Repeat("\x00", 64) + "\x00\x00"
	var r Record
	if err := r.Decode("\x1a" + head + event + "\x41\x01a\x01p\x02"); err != nil || r.Event.Subject.Texts[subject.Amount] != "a" || r.Event.Subject.Further[subject.Path] != 2 {
		t.Fatalf("the base of all cases: %v, %v", r.Event.Subject, err)
	}
	for name, data := range map[string]string{
		"no field":          "\x00",
		"an unknown field":  string(binary.AppendUvarint(nil, 1<<subject.Fields)) + "\x01a",
		"an empty text":     "\x01\x00",
		"a long text":       "\x01\x61" + strings.Repeat("a", 97),
		"no further number": "\x40\x01p",
		"a huge number":     "\x40\x01p\xff\xff\xff\xff\x0f",
		"nothing":           "",
	} {
		if err := r.Decode("\x1a" + head + event + data); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestHiddenValue: what a limit refuses by is in the record, unless the plan hides it; the limit is there in either case.
func TestHiddenValue(t *testing.T) {
	for _, hide := range []bool{false, true} {
		e, q := ledger.Event{}, ledger.Reservation{Op: ledger.Count, Line: 7}
		tellRefusal(&e, &q, &ledger.Outcome{}, hide)
		if e.Details.Limit != "0" || e.Details.Line != 7 || (e.Value == "") != hide {
			t.Errorf("hidden %v: value %q, details %+v", hide, e.Value, e.Details)
		}
	}
}
