package match

import (
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

// live returns the bytes of all slices and of all structs behind pointers that a value leads to, each once: what Memory is to say.
func live(v reflect.Value, seen map[unsafe.Pointer]bool) (bytes int) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && !seen[v.UnsafePointer()] {
			seen[v.UnsafePointer()] = true
			bytes = int(v.Type().Elem().Size()) + live(v.Elem(), seen)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			bytes += live(v.Field(i), seen)
		}
	case reflect.Slice:
		if v.Cap() > 0 && !seen[v.UnsafePointer()] {
			seen[v.UnsafePointer()] = true
			bytes = v.Cap()*int(v.Type().Elem().Size()) + Allocated
			for i := range v.Len() {
				bytes += live(v.Index(i), seen)
			}
		}
	}
	return bytes
}

// TestMemory holds that sets, patterns and guards keep as many bytes live as they say, whatever they were prepared for.
func TestMemory(t *testing.T) {
	check(t, 300, func(r *rand.Rand) string {
		g := source{r}
		ways := []By{Whole, Start, End, Inside, Each}
		style, entries := GlobStyle(0), g.similar(g.size(), r.Intn(2) == 0)
		switch r.Intn(5) {
		case 4:
			ways, entries = []By{Inside, Each}, numbered(3+r.Intn(5), g.oneOf("k-%d", "k%d", "0_%d", "K%d-"))
		case 0:
			ways, entries = []By{Host}, nil
			for i := range g.size() {
				entries = append(entries, Entry{Text: fmt.Sprintf("%s%c%d", g.oneOf("a.", "."), 'a'+i%3, i)})
			}
		case 1:
			ways, entries = []By{Path}, nil
			for i := range g.size() {
				entries = append(entries, Entry{Text: g.oneOf("/", "", "**/", "/*/", "/a*/") + string(rune('a'+i))}, Entry{Text: "/"})
			}
		case 2:
			ways, style = []By{Glob}, Mailbox
			for i := range entries {
				entries[i] = Entry{Text: entries[i].Text + g.oneOf("", "*", "*a*b*", "*c*d*e*f")}
			}
		}
		s := new(Set)
		s.Load(entries, style)
		for _, by := range ways {
			said, err := s.Prepare(by)
			if err != nil {
				return err.Error()
			}
			if grown := s.search.automata(); by == Inside && said != grown {
				return fmt.Sprintf("%+v: preparing takes %d bytes of automata, want %d", entries, said, grown)
			}
			if want := live(reflect.ValueOf(s).Elem(), map[unsafe.Pointer]bool{}); s.Memory() != want {
				return fmt.Sprintf("way %d of %+v: %d bytes, want %d", by, entries, s.Memory(), want)
			}
		}
		if guard := NewGuard(ways[r.Intn(len(ways))], s); guard != nil {
			if want := live(reflect.ValueOf(guard), map[unsafe.Pointer]bool{}) - guard.inside.copied(); guard.Memory() != want {
				return fmt.Sprintf("a guard of %+v: %d bytes, want %d", entries, guard.Memory(), want)
			}
		}
		return ""
	})
	for _, text := range []string{"a", `\bx\b`, `[α-ω]+\d`, "(?i)straße|x{3}"} {
		if p := loaded(text, true); p.dfa == nil || p.Memory() != live(reflect.ValueOf(p.dfa), map[unsafe.Pointer]bool{}) {
			t.Errorf("%s: %d bytes", text, p.Memory())
		}
	}
	var none *Pattern
	if none.Memory() != 0 {
		t.Error("no pattern takes memory")
	}
}

// TestExact holds that a slice that has grown is copied into an array which has no room besides.
func TestExact(t *testing.T) {
	for n := range 20 {
		grown := make([]int, n, n+10)
		for i := range grown {
			grown[i] = i
		}
		made := exact(grown)
		if len(made) != n || cap(made) != n {
			t.Errorf("a copy of %d elements has %d, and room for %d", n, len(made), cap(made))
		}
		for i := range made {
			if grown[i]++; made[i] != i {
				t.Errorf("element %d of %d is %d", i, n, made[i])
			}
		}
	}
}

// automata returns the bytes of what the automata of a searcher have for each of their states.
func (s *searcher) automata() (bytes int) {
	if s == nil {
		return 0
	}
	for _, a := range []*automaton{s.exact, s.folded} {
		if a != nil {
			bytes += 4*len(a.rows) + 8*len(a.ending)
		}
	}
	return bytes
}

// copied returns the bytes of entries that a guard's bigrams have besides those of its sets.
func (p *bigrams) copied() int {
	if p == nil {
		return 0
	}
	return live(reflect.ValueOf(p.set), map[unsafe.Pointer]bool{})
}

// TestAutomataBounded holds that texts which would take an automaton of more than MaxMemory are refused, and those of just as much are not.
func TestAutomataBounded(t *testing.T) {
	const step = 16 // bytes of a state, of one letter and all others
	set := newEntries([]Entry{{Text: strings.Repeat("a", MaxMemory/step)}})
	want := fmt.Sprintf("searching for 1 texts takes %d bytes of memory: at most %d; use fewer or shorter texts", MaxMemory+step, MaxMemory)
	if _, err := newAutomaton(set, []int{0}, false); err == nil || err.Error() != want {
		t.Errorf("one byte too many: %v, want %s", err, want)
	}
	set[0].text = set[0].text[1:]
	if a, err := newAutomaton(set, []int{0}, false); err != nil || a.grown() != MaxMemory {
		t.Errorf("as many bytes as may be: %v", err)
	}
	for name, long := range map[string]Entry{
		"exact": {Text: strings.Repeat("a", MaxMemory/step)}, "folded": {Text: strings.Repeat("x", MaxMemory/step) + "-" + someAddress, Fold: true},
	} {
		s := new(Set)
		s.Load(append(numbered(FewSearched, "k%02d"), long), 0)
		if memory, err := s.Prepare(Each); err == nil || !strings.HasPrefix(err.Error(), "searching for ") {
			t.Errorf("%s: %d bytes are taken, %v", name, memory, err)
		}
	}
}
