package intent

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"bailiff/runtime/subject"
	"bailiff/vm"
	"bailiff/vm/slot"
)

// TestSubject: of lists a subject has the first value and how many more there are, nothing of one that begins with an empty value,
// and the unit of an amount where the request has it.
func TestSubject(t *testing.T) {
	plain := func(text string, _ bool) string { return text }
	for _, test := range []struct {
		body  string
		class vm.Class
		want  map[subject.Field]string
		more  map[subject.Field]int
	}{
		{`+"action":"email.send","intent":{"to":["a@x.example","b@x.example","c@x.example"]}`, vm.Tool, map[subject.Field]string{subject.Recipient: "a@x.example"}, map[subject.Field]int{subject.Recipient: 2}},
		{`+"action":"x","intent":{"to":["","b"]}`, vm.Tool, nil, nil},
		{`+"action":"x","intent":{"amount":"2"}`, vm.Tool, map[subject.Field]string{subject.Amount: "2"}, nil},
		{`+"action":"wallet.transfer","chainId":1,"intent":{"amount":"2"}`, vm.EVM, map[subject.Field]string{subject.Amount: "2", subject.Unit: nativeUnit}, nil},
		{`+"action":"x","intent":{"amount":"2","token":"ABC"}`, vm.Tool, map[subject.Field]string{subject.Amount: "2", subject.Token: "abc", subject.Unit: "abc"}, nil},
	} {
		in, err := NewDecoder(Options{}).Decode([]byte(goldenBody(test.body)))
		if err != nil {
			t.Fatalf("%s: %v", test.body, err)
		}
		got, want := in.Subject(newTokens(nil), test.class, plain), subject.Subject{}
		for f, text := range test.want {
			want.Texts[f] = text
		}
		for f, n := range test.more {
			want.Further[f] = n
		}
		if got != want {
			t.Errorf("%s is about %v, want %v", test.body, got, want)
		}
	}
}

// TestJoinedPaths: paths are refused where the working directory in front of each would take more than a body may have.
func TestJoinedPaths(t *testing.T) {
	paths := `"a"` + strings.Repeat(`,"a"`, slot.MaxPaths-1)
	for n, refused := range map[int]bool{MaxBody/slot.MaxPaths - 1: false, MaxBody / slot.MaxPaths: true} {
		cwd := "/" + strings.Repeat("d", n-1)
		_, err := NewDecoder(Options{}).Decode([]byte(goldenBody(fmt.Sprintf(`+"action":"file_write","intent":{"cwd":%q,"paths":[%s]}`, cwd, paths))))
		var fault *Error
		if errors.As(err, &fault) != refused || refused && !strings.Contains(fault.Message, "more than 100000 bytes") {
			t.Errorf("a working directory of %d bytes: %v", n, err)
		}
	}
}

// TestTooManySlots: a binding takes as many slots as a program can have, and no more.
func TestTooManySlots(t *testing.T) {
	names := make([]string, math.MaxUint16+1)
	for i := range names {
		names[i] = "action"
	}
	if _, err := NewBinding(names[1:], nil); err != nil {
		t.Error(err)
	}
	if _, err := NewBinding(names, nil); err == nil {
		t.Errorf("%d slots are bound", len(names))
	}
}
