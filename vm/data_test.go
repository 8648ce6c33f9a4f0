package vm

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestData runs the files of testdata. Their commands are
//
//	assemble           reads a program; prints its bytes, or what is wrong with it
//	verify             the same, printing "ok" instead of the bytes
//	break              changes one operand of the last program, given as arguments (pc=1 a=2), and verifies it
//	run [mode=all]     runs the last program over the frame that the input describes
//	listing            prints the last program in words
//	reference          prints the table of operations
func TestData(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var h harness
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "assemble":
				return h.assemble(d.Input)
			case "verify":
				return h.verify(d.Input)
			case "break":
				return h.breakOperand(t, d)
			case "run":
				return h.run(t, d)
			case "listing":
				return h.program.Listing(h.source)
			case "reference":
				return reference()
			}
			t.Fatalf("%s: no such command", d.Pos)
			return ""
		})
	})
}

// A harness keeps the last program of a file.
type harness struct {
	text    string
	source  []string
	program *Program
	machine Machine
	failed  error // why there is no program
}

// read assembles text and gives each instruction its own line as source.
func (h *harness) read(text string) error {
	p, err := Assemble(text)
	if h.failed = err; err != nil {
		h.program, h.text = nil, text
		return err
	}
	h.text, h.program, h.source = text, p, nil
	for i, line := range strings.Split(text, "\n") {
		h.source = append(h.source, line)
		if word, _, ok := strings.Cut(line, ": "); ok && len(p.debug) < p.Len() {
			if _, err := strconv.Atoi(word); err == nil {
				p.debug = append(p.debug, Span{Start: int32(i), End: int32(i + 1), Line: int32(i + 1)})
			}
		}
	}
	return nil
}

func (h *harness) assemble(text string) string {
	if err := h.read(text); err != nil {
		return err.Error() + "\n"
	}
	if again := h.program.Disassemble(); again != text+"\n" {
		return "disassembles to:\n" + again
	}
	return dump(h.program.Canonical())
}

// dump prints bytes, 32 to a line, with the printable ones beside.
func dump(data []byte) string {
	b := new(strings.Builder)
	for len(data) > 0 {
		n := min(32, len(data))
		fmt.Fprintf(b, "%-64x  %s\n", data[:n], strings.Map(func(r rune) rune {
			if r < 0x20 || r > 0x7e {
				return '.'
			}
			return r
		}, string(latin(data[:n]))))
		data = data[n:]
	}
	return b.String()
}

func latin(data []byte) []rune {
	runes := make([]rune, len(data))
	for i, c := range data {
		runes[i] = rune(c)
	}
	return runes
}

func (h *harness) verify(text string) string {
	if err := h.read(text); err != nil {
		return err.Error() + "\n"
	}
	return "ok\n"
}

func (h *harness) breakOperand(t *testing.T, d *datadriven.TestData) string {
	p, err := assemble(h.text)
	if err != nil {
		t.Fatalf("%s: %v", d.Pos, err)
	}
	var pc int
	d.ScanArgs(t, "pc", &pc)
	in := &p.code[pc]
	for _, arg := range d.CmdArgs {
		n, err := strconv.ParseUint(arg.FirstVal(t), 0, 16)
		if err != nil {
			t.Fatalf("%s: %v", d.Pos, err)
		}
		switch arg.Key {
		case "op":
			in.Op = Op(n)
		case "a":
			in.A = uint8(n)
		case "b":
			in.B = uint16(n)
		case "c":
			in.C = uint16(n)
		case "d":
			in.D = uint16(n)
		}
	}
	if err := p.load(); err != nil {
		return err.Error() + "\n"
	}
	return "ok\n"
}

func (h *harness) run(t *testing.T, d *datadriven.TestData) string {
	if h.program == nil {
		t.Fatalf("%s: there is no program: %v", d.Pos, h.failed)
	}
	frame, err := readFrame(h.program, d.Input)
	if err != nil {
		t.Fatalf("%s: %v", d.Pos, err)
	}
	mode := First
	if d.HasArg("all") {
		mode = All
	}
	return h.program.show(h.machine.Run(h.program, frame, mode))
}

// show prints a result.
func (p *Program) show(r *Result) string {
	b := new(strings.Builder)
	fmt.Fprintf(b, "%s %s\n", r.Status, r.Class)
	for _, v := range r.Violations {
		slot, element := "-", "-"
		if v.Slot != NoSlot {
			slot = p.fields[v.Slot]
		}
		if v.Element != NoElement {
			element = strconv.Itoa(int(v.Element))
		}
		fmt.Fprintf(b, "violated %s by %s[%s] at %d\n", p.rules[v.Rule].Name, slot, element, v.PC)
	}
	for _, rule := range r.Holds {
		fmt.Fprintf(b, "hold %s\n", p.rules[rule].Name)
	}
	for _, rule := range r.Notes {
		fmt.Fprintf(b, "note %s\n", p.rules[rule].Name)
	}
	for _, reservation := range r.Reservations {
		fmt.Fprintf(b, "reserve %s of %s\n", reservation.Amount, p.counters[reservation.Counter].Name)
	}
	for i, register := range r.Amounts {
		if register.Set {
			fmt.Fprintf(b, "reg%d %s, %d decimals\n", i, register.Value, register.Decimals)
		}
	}
	return b.String()
}

// readFrame reads lines of a field and its value: "text", base "text", number 1, bool true, null, invalid,
// object, or a list of those in brackets.
func readFrame(p *Program, text string) ([]Value, error) {
	frame := make([]Value, len(p.fields))
	for line := range strings.Lines(text) {
		line = strings.NewReplacer("[", " [ ", "]", " ] ").Replace(line)
		words, err := split(line)
		if err != nil || len(words) == 0 {
			return nil, fmt.Errorf("%q: %v", line, err)
		}
		slot, ok := p.Slot(words[0].text)
		if !ok {
			return nil, fmt.Errorf("no field is called %q", words[0].text)
		}
		v, rest, err := readValue(words[1:])
		if err != nil || len(rest) > 0 {
			return nil, fmt.Errorf("%q: %v", line, err)
		}
		frame[slot] = v
	}
	return frame, nil
}

func readValue(words []word) (v Value, rest []word, err error) {
	if len(words) == 0 {
		return v, nil, fmt.Errorf("a value is missing")
	}
	first, rest := words[0], words[1:]
	switch {
	case first.quoted:
		return Value{Kind: String, Text: first.text}, rest, nil
	case first.text == "null":
		return Value{Kind: Null}, rest, nil
	case first.text == "invalid":
		return Value{Kind: Invalid}, rest, nil
	case first.text == "object":
		return Value{Kind: Object}, rest, nil
	case first.text == "[":
		return readList(rest)
	}
	if len(rest) == 0 {
		return v, nil, fmt.Errorf("%q is no value", first.text)
	}
	switch v.Text = rest[0].text; first.text {
	case "number":
		v.Kind = Number
	case "bool":
		v.Kind = Bool
	case "base":
		v.Kind, v.BaseUnits = String, true
	case "long":
		n, _ := strconv.Atoi(v.Text)
		v.Kind, v.Text = String, strings.Repeat("a", n)
	default:
		return v, nil, fmt.Errorf("%q is no value", first.text)
	}
	return v, rest[1:], nil
}

func readList(words []word) (v Value, rest []word, err error) {
	v.Kind = List
	for len(words) > 0 && words[0] != (word{"]", false}) {
		var e Value
		if e, words, err = readValue(words); err != nil {
			return v, nil, err
		}
		v.Elems = append(v.Elems, e)
	}
	if len(words) == 0 {
		return v, nil, fmt.Errorf("a list does not end")
	}
	return v, words[1:], nil
}
