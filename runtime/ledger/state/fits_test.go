package state

import (
	"bytes"
	"testing"
)

// TestFits: a record is brought into a form that an older release reads where that form is one that it can do without, and is as it was
// otherwise. The rest of it is written and read.
func TestFits(t *testing.T) {
	spared := 0
	for n := range uint64(5000) {
		for _, most := range []int{3, 50, Latest()} {
			was, r := randomRecord(n), randomRecord(n)
			before, number := int(was.form().number), r.Fits(most)
			switch {
			case number != int(r.form().number):
				t.Fatalf("record %d has the form %d, and %d was said", n, r.form().number, number)
			case before <= most && number != before:
				t.Fatalf("record %d of the form %d became %d for %d", n, before, number, most)
			case number > most && r.form().spare != nil:
				t.Fatalf("record %d stays %d for %d, though it can do without", n, number, most)
			case number < before:
				spared++
			}
			if number < before { // nothing else is taken out
				r.Hold.AmountSent = was.Hold.AmountSent
			}
			if !bytes.Equal(r.Append(nil), was.Append(nil)) {
				t.Fatalf("record %d of the form %d lost more than it had to as %d", n, before, number)
			}
		}
	}
	if spared == 0 {
		t.Error("no record was brought into an older form")
	}
	if snapshotDropped != 12 {
		t.Error("the base of a log that retention has dropped from has a snapshot: a release before this one must be able to read it as long as the level is its own")
	}
	if Latest() != 61 {
		t.Errorf("the latest form is %d: say in its row whether a record can do without it", Latest())
	}
}
