package subject

import (
	"encoding/json"
	"strings"
	"testing"
)

// full is a subject with every field at its bound.
func full() (s Subject) {
	for f := range Fields {
		s.Set(f, strings.Repeat("x", 1000))
		if Table[f].Further != "" {
			s.Further[f] = 3
		}
	}
	return s
}

func TestTable(t *testing.T) {
	seen := map[string]bool{"": true}
	const digest = len("hmac-sha256:") + 64
	for f, row := range Table {
		if row.Name == "" || row.Doc == "" || row.Max < digest || seen[row.Name] || row.Further != "" && seen[row.Further] {
			t.Errorf("field %d: %+v", f, row)
		}
		seen[row.Name], seen[row.Further] = true, true
	}
}

func TestSet(t *testing.T) {
	s := full()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	s.Set(Command, "x"+strings.Repeat("é", Table[Command].Max))
	if got := s.Texts[Command]; len(got) != Table[Command].Max-1 || !strings.HasSuffix(got, "é") {
		t.Errorf("a text is cut to %d bytes, %q", len(got), got)
	}
}

func TestCheck(t *testing.T) {
	for name, spoil := range map[string]func(*Subject){
		"a long text":                func(s *Subject) { s.Texts[Host] += "x" },
		"further hosts":              func(s *Subject) { s.Further[Host] = 1 },
		"further paths, and no path": func(s *Subject) { s.Texts[Path] = "" },
		"fewer paths than none":      func(s *Subject) { s.Further[Path] = -1 },
		"too many paths":             func(s *Subject) { s.Further[Path] = MaxFurther + 1 },
	} {
		s := full()
		if spoil(&s); s.Check() == nil {
			t.Errorf("%s passes", name)
		}
	}
}

func TestJSON(t *testing.T) {
	var s Subject
	s.Set(Amount, "125.5")
	s.Set(Path, `/a "b"`)
	s.Further[Path] = 2
	raw, err := json.Marshal(s)
	if want := `{"amount":"125.5","path":"/a \"b\"","furtherPaths":2}`; err != nil || string(raw) != want {
		t.Errorf("%s, %v; want %s", raw, err, want)
	}
	for _, s := range []Subject{{}, s, full()} {
		var got Subject
		raw, err := json.Marshal(s)
		if err != nil || json.Unmarshal(raw, &got) != nil || got != s {
			t.Errorf("%s is read as %+v, %v", raw, got, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"amount":1}`), &s); err == nil {
		t.Error("a number is read as a text")
	}
}
