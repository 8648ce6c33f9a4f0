package compiler

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bailiff/grammar"
	"bailiff/vm"
)

// The canary of the golden files: programs that differ from the compiled one in one instruction, as they would if
// the emitter were wrong there. The decisions of the golden files have to tell all of them apart.

// faults are the single changes to a line of assembly, by name.
var faults = map[string]func(line string) string{
	"gt becomes ge":              swapWords(": gt ", ": ge "),
	"ge becomes gt":              swapWords(": ge ", ": gt "),
	"a test turns round":         swapWords(" unless ", " if ", " if ", " unless "),
	"any becomes all":            ofLists(swapWords(" any ", " all ")),
	"all becomes any":            ofLists(swapWords(" all ", " any ")),
	"a denial is dropped":        dropDenial,
	"all of a list is blamed":    ofLists(swapWords(": deny element ", ": deny value ")),
	"a refusal is dropped":       replaceLine(`^(\d+): reject "[^"]*" (rule\d+)$`, "$1: note $2"),
	"a hold is dropped":          replaceLine(`^(\d+): hold (rule\d+)$`, "$1: note $2"),
	"missing becomes object":     swapWords("missing|null", "object"),
	"two branches change places": swapBranches,
	"an address counts its case": replaceLine(`^(texts.*?) fold `, "$1 "),
	"a part is enough":           replaceLine(`^pattern whole `, "pattern "),
	"a glob's style changes":     ofStars(swapWords("globs mailbox ", "globs dotted ", "globs dotted ", "globs mailbox ")),
	"a maximum becomes a sum":    replaceLine(`^(counter .*) max "`, `$1 sum "`),
	"a sum becomes a maximum":    replaceLine(`^(counter .*) sum "`, `$1 max "`),
	"a window changes":           replaceLine(`^(counter .*) window (?:day|task)`, "$1 window hour"),
	"a subgroup is dropped":      replaceLine(`^(counter .*) subgroup .*$`, "$1"),
	"a reservation is dropped":   func(line string) string { return strings.Replace(line, ": reserve ", ": unreserved ", 1) },
}

// withoutReservation returns the assembly of a program that notes the rule of a counter in place of advancing it, or nil
// where the counter is advanced elsewhere too.
func withoutReservation(lines []string, i int) []string {
	place, name, _ := strings.Cut(lines[i], ": unreserved ")
	changed := slices.Clone(lines)
	number, at := 0, -1
	for j, line := range lines {
		switch {
		case j != i && strings.HasSuffix(line, ": reserve "+name):
			return nil
		case strings.HasPrefix(line, "counter ") && fmt.Sprintf("counter%d", number) == name:
			at = j
			number++
		case strings.HasPrefix(line, "counter "):
			number++
		}
	}
	changed[i] = place + ": note " + regexp.MustCompile(` (rule\d+) limit `).FindStringSubmatch(lines[at])[1]
	gone := 0
	fmt.Sscanf(name, "counter%d", &gone)
	for j, line := range changed {
		var n int
		if before, counter, ok := strings.Cut(line, ": reserve counter"); ok {
			if fmt.Sscan(counter, &n); n > gone {
				changed[j] = fmt.Sprintf("%s: reserve counter%d", before, n-1)
			}
		}
	}
	return slices.Delete(changed, at, at+1)
}

// swapWords replaces the first of the pairs that is in a line.
func swapWords(pairs ...string) func(string) string {
	return func(line string) string {
		for i := 0; i < len(pairs); i += 2 {
			if strings.Contains(line, pairs[i]) {
				return strings.Replace(line, pairs[i], pairs[i+1], 1)
			}
		}
		return line
	}
}

var branch = regexp.MustCompile(`@\d+`)

// swapBranches swaps the first two different targets of a table.
func swapBranches(line string) string {
	targets := branch.FindAllString(line, -1)
	if !strings.HasPrefix(line, "table ") {
		return line
	}
	for _, other := range targets {
		if first := targets[0]; other != first {
			line = strings.Replace(line, first, "@?", 1)
			line = strings.Replace(line, other+" ", first+" ", 1)
			return strings.Replace(line, "@?", other, 1)
		}
	}
	return line
}

// ofLists spares the lines about slots that never hold a list.
func ofLists(fault func(string) string) func(string) string {
	return func(line string) string {
		if scalars.MatchString(line) {
			return line
		}
		return fault(line)
	}
}

// ofStars spares the patterns without a star, for which the style means nothing.
func ofStars(fault func(string) string) func(string) string {
	return func(line string) string {
		if !strings.Contains(line, "*") {
			return line
		}
		return fault(line)
	}
}

// dropDenial notes the rule of a denial in its place.
var dropDenial = replaceLine(`^(\d+): deny \w+ "[^"]*" (rule\d+) @\d+$`, "$1: note $2")

// dropTwins drops the denials beside line i that are by the same rule: a rule has one for each slot that it can blame.
func dropTwins(lines []string, i int) {
	_, note, _ := strings.Cut(lines[i], ": ")
	for _, step := range []int{-1, 1} {
		for j := i + step; j >= 0 && j < len(lines); j += step {
			dropped := dropDenial(lines[j])
			if dropped == lines[j] || !strings.HasSuffix(dropped, ": "+note) {
				break
			}
			lines[j] = dropped
		}
	}
}

func replaceLine(pattern, with string) func(string) string {
	re := regexp.MustCompile(pattern)
	return func(line string) string { return re.ReplaceAllString(line, with) }
}

// scalars are slots that never hold a list, or one of paths alone that is asked whether it is there, so that any and all are
// the same.
var scalars = regexp.MustCompile(`"(action|chainId|targetAddress|token|amount|calldata|framework|agentId|command|host|path|url|method|query|@action|@text|@provenance|@host|@path|@token|@caseless|@sent\.(?:url|host|query|path|amount|token)|@each\.metadata\.(?:serverId|toolName)|@path\.decoded|@url\.decoded|@git\.branch|@query|@server|@tool|@mcp|@evm\.call|@evm\.call\.token|@evm\.call\.amount|@evm\.call\.symbol|@token\.stray|@target\.token|@calldata\.(?:method|runs|mismatch)|@moved|` +
	`@fs\.(?:git|taken|taken\.tree|taken\.roots)|@git\.(?:operation|provider|remote_scheme|worktree|worktree\.beyond)|@db\.environment)"`)

// goldenRuns returns the programs of the golden files, and the intents of all of them.
func goldenRuns(t *testing.T) (programs []*vm.Program, lines []string) {
	files, err := filepath.Glob("testdata/golden/*")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no golden files")
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for block := range strings.SplitSeq(string(text), "\n\n") {
			for strings.HasPrefix(block, "#") {
				_, block, _ = strings.Cut(block, "\n")
			}
			input, _, _ := strings.Cut(block, "\n----")
			command, input, _ := strings.Cut(input, "\n")
			switch {
			case strings.HasPrefix(command, "policy"):
				compiled, _ := compileLinted(grammar.NewSource(path, []byte(input+"\n")))
				programs = append(programs, compiled.Program)
			case command == "decide":
				lines = append(lines, strings.Split(input, "\n")...)
			}
		}
	}
	return programs, lines
}

// frames binds all intents to a program.
func frames(t *testing.T, p *vm.Program, lines []string) (all [][]vm.Value) {
	for _, line := range lines {
		if in, from, err := readIntent(line); err == nil {
			all = append(all, bind(t, p, in, from))
		}
	}
	return all
}

// decision returns all that a program says of a frame, in both modes.
func decision(machine *vm.Machine, p *vm.Program, frame []vm.Value) string {
	var b strings.Builder
	for _, mode := range []vm.Mode{vm.First, vm.All} {
		r := machine.Run(p, frame, mode)
		b.WriteByte(byte(r.Status)<<4 | byte(r.Class))
		for _, v := range r.Violations {
			rule := p.Rule(v.Rule)
			fmt.Fprint(&b, rule.Name, rule.Code, rule.Message, p.Fields()[v.Slot], v.Element)
		}
		fmt.Fprint(&b, r.Holds, r.Notes)
		for _, reservation := range r.Reservations {
			counter := *p.Counter(reservation.Counter)
			fmt.Fprint(&b, counter.Name, counter.Op, counter.Limit, counter.Window, counter.GroupName, counter.SubgroupName, reservation.Amount)
		}
	}
	return b.String()
}

// A watch tells a program from others by what they say of the frames.
type watch struct {
	frames  [][]vm.Value
	want    []string
	last    int // the frame that told the last one: it often tells the next one too
	machine vm.Machine
}

func newWatch(p *vm.Program, frames [][]vm.Value) *watch {
	w := &watch{frames: frames}
	for _, frame := range frames {
		w.want = append(w.want, decision(&w.machine, p, frame))
	}
	return w
}

// tells reports whether any frame tells the mutant from the program.
func (w *watch) tells(mutant *vm.Program) bool {
	for i := range w.frames {
		at := (w.last + i) % len(w.frames)
		if decision(&w.machine, mutant, w.frames[at]) != w.want[at] {
			w.last = at
			return true
		}
	}
	return false
}

// TestGoldenCatchesFaults plants each fault at each instruction of each golden program. If you add a rule to a
// golden file adds the intents that show it at work.
func TestGoldenCatchesFaults(t *testing.T) {
	caught, missed := map[string]int{}, map[string][]string{}
	programs, intents := goldenRuns(t)
	for _, program := range programs {
		w := newWatch(program, frames(t, program, intents))
		lines := strings.Split(program.Disassemble(), "\n")
		for i, line := range lines {
			for name, fault := range faults {
				mutant := plant(lines, i, fault(line))
				switch {
				case mutant == nil:
				case w.tells(mutant):
					caught[name]++
				default:
					missed[name] = append(missed[name], program.Policy()+": "+spell(lines, line))
				}
			}
		}
	}
	for name := range faults {
		total := caught[name] + len(missed[name])
		t.Logf("%s: caught %d of %d", name, caught[name], total)
		for _, line := range missed[name] {
			t.Logf("    missed: %.150s", line)
		}
		if caught[name] == 0 || len(missed[name]) > 0 {
			t.Errorf("%s: the golden files catch %d of %d", name, caught[name], total)
		}
	}
}

// spell puts a rule's name and message in place of its number.
func spell(lines []string, line string) string {
	rules := slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !strings.HasPrefix(l, "rule ") })
	for i, rule := range rules {
		line = regexp.MustCompile(fmt.Sprintf(`\brule%d\b`, i)).ReplaceAllLiteralString(line, rule)
	}
	return line
}

// plant returns the program with one line replaced, or nil where the line is the same or the verifier refuses it.
func plant(lines []string, i int, line string) *vm.Program {
	if line == lines[i] {
		return nil
	}
	changed := append(append(append([]string(nil), lines[:i]...), line), lines[i+1:]...)
	switch {
	case strings.Contains(line, ": unreserved "):
		changed = withoutReservation(changed, i)
	case line == dropDenial(lines[i]):
		dropTwins(changed, i)
	}
	program, err := vm.Assemble(strings.Join(changed, "\n"))
	if err != nil {
		return nil
	}
	return program
}
