package attacks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// A class is a file of testdata: attacks on one thing that the service reads.
type class struct {
	Name      string            `yaml:"class"`
	Attacks   string            `yaml:"attacks"`   // the target, in a sentence or two
	Here      []string          `yaml:"here"`      // what such attacks found in this project
	Elsewhere []source          `yaml:"elsewhere"` // and in others' products
	Answers   map[string]string `yaml:"answers"`   // names of answers
	Groups    []group           `yaml:"groups"`
}

// A source is a fault of another product, with where it was published.
type source struct {
	Fault string `yaml:"fault"`
	At    string `yaml:"at"`
}

// A group is a policy, the form of a request, and cases of it.
type group struct {
	Name   string `yaml:"name"`
	Kind   string `yaml:"kind"` // of runners; decision by default
	Policy string `yaml:"policy"`
	Intent string `yaml:"intent"` // JSON: the request's member intent
	Top    string `yaml:"top"`    // JSON: further members of the request
	Body   string `yaml:"body"`   // or the whole body
	Shim   bool   `yaml:"shim"`
	Before []step `yaml:"before"` // requests that come first
	Cases  []spec `yaml:"cases"`
}

// A step is a request of a story before the attack.
type step struct {
	Intent string `yaml:"intent"`
	Top    string `yaml:"top"`
	Shim   bool   `yaml:"shim"`
	Expect string `yaml:"expect"`
	Then   string `yaml:"then"` // approve or deny: what becomes of the hold that the step opens
}

// A spec makes a case of each value, or of each spelling of From by the encodings By.
type spec struct {
	Encoding string   `yaml:"encoding"`
	Expect   string   `yaml:"expect"`
	Why      string   `yaml:"why"`
	Values   []string `yaml:"values"`
	Bytes    []string `yaml:"bytes"` // values in the form of Go strings, without their quotes
	From     string   `yaml:"from"`
	By       []string `yaml:"by"`
	Unread   bool     `yaml:"unread"` // by the oracle, which does not follow the values that bash evaluates
}

// An attack is one case.
type attack struct {
	id       string
	encoding string
	value    string
	expect   string
	why      string
	unread   bool
}

// read returns all classes, by name.
func read(t testing.TB) []*class {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no classes: %v", err)
	}
	var classes []*class
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c := new(class)
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		decoder.KnownFields(true)
		if err := decoder.Decode(c); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if c.Name+".yaml" != filepath.Base(path) {
			t.Fatalf("%s has the class %q", path, c.Name)
		}
		classes = append(classes, c)
	}
	return classes
}

// cases returns the cases of a group.
func (c *class) cases(t testing.TB, g *group) (all []attack) {
	t.Helper()
	for _, s := range g.Cases {
		for _, value := range c.values(t, g, &s) {
			value.id = fmt.Sprintf("%s/%s/%s/%d", c.Name, g.Name, value.encoding, len(all)+1)
			value.expect, value.why, value.unread = c.answer(s.Expect), s.Why, s.Unread
			if value.expect == "" || value.why == "" {
				t.Fatalf("%s has no expected answer or no reason", value.id)
			}
			all = append(all, value)
		}
	}
	return all
}

func (c *class) values(t testing.TB, g *group, s *spec) (all []attack) {
	t.Helper()
	if len(s.Values)+len(s.Bytes) > 0 && s.Encoding == "" {
		t.Fatalf("%s/%s: values without an encoding", c.Name, g.Name)
	}
	for _, value := range s.Values {
		all = append(all, attack{encoding: s.Encoding, value: value})
	}
	for _, quoted := range s.Bytes {
		value, err := strconv.Unquote(`"` + quoted + `"`)
		if err != nil {
			t.Fatalf("%s/%s: %q: %v", c.Name, g.Name, quoted, err)
		}
		all = append(all, attack{encoding: s.Encoding, value: value})
	}
	for _, name := range s.By {
		encode := encoders[name]
		if encode == nil {
			t.Fatalf("%s/%s: there is no encoding %q", c.Name, g.Name, name)
		}
		for _, value := range encode(s.From) {
			all = append(all, attack{encoding: name, value: value})
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s/%s: %s %v makes no case of %q", c.Name, g.Name, s.Encoding, s.By, s.From)
	}
	return all
}

// answer returns the answer of a name, or the text itself.
func (c *class) answer(name string) string {
	if text, ok := c.Answers[name]; ok {
		return text
	}
	return name
}

// meets reports whether an answer is the expected one, which may leave out the last words, or one of two that "or" divides
// where the documents leave open which refusal comes first.
func meets(got, expected string) bool {
	for one := range strings.SplitSeq(expected, " or ") {
		if got == one || strings.HasPrefix(got, one+" ") {
			return true
		}
	}
	return false
}

// commitment is the txCommit of all requests.
const commitment = "b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c"

// request returns a request's body: the members, and intent, with value in place of § (inside a string of JSON) and §§ (as it is).
func request(intent, top, value string) []byte {
	text := `{"framework":"custom","agentId":"agent-1",`
	if !strings.Contains(top, `"userOpHash"`) && !strings.Contains(top, `"txCommit"`) {
		text += `"txCommit":"` + commitment + `",`
	}
	if top != "" {
		text += top + ","
	}
	return place(text+`"intent":`+intent+"}", value)
}

func place(form, value string) []byte {
	form = strings.ReplaceAll(form, "§§", value)
	if !strings.Contains(form, "§") {
		return []byte(form)
	}
	return []byte(strings.ReplaceAll(form, "§", escaped(value)))
}

// escaped returns text as it is inside a string of JSON. Bytes that are not UTF-8 stay.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// body returns the body of the attack of a group.
func (g *group) body(value string) []byte {
	if g.Body != "" {
		return place(g.Body, value)
	}
	return request(g.Intent, g.Top, value)
}

// TestCorpus holds the corpus to its size, and its encodings to what the page lists.
func TestCorpus(t *testing.T) {
	total, used, ids := 0, map[string]bool{}, map[string]bool{}
	for _, c := range read(t) {
		names := map[string]bool{}
		for i := range c.Groups {
			g := &c.Groups[i]
			if names[g.Name] {
				t.Errorf("%s has two groups %s", c.Name, g.Name)
			}
			names[g.Name] = true
			bodies := map[string]bool{}
			for _, a := range c.cases(t, g) {
				total++
				used[a.encoding] = true
				if ids[a.id] {
					t.Errorf("two cases are %s", a.id)
				}
				ids[a.id] = true
				if bodies[a.value] {
					t.Errorf("%s repeats the value %q", a.id, a.value)
				}
				bodies[a.value] = true
				if _, known := encodings[a.encoding]; !known {
					t.Errorf("%s: encodings_test.go does not describe %q", a.id, a.encoding)
				}
			}
		}
	}
	if total < 1000 {
		t.Errorf("the corpus has %d cases; at least 1,000 are needed", total)
	}
	for name := range encodings {
		if !used[name] {
			t.Errorf("no case has the encoding %q", name)
		}
	}
	for name := range encoders {
		if _, known := encodings[name]; !known {
			t.Errorf("encodings_test.go does not describe %q", name)
		}
	}
	t.Logf("%d cases", total)
}

// TestPlace holds what the other tests rely on: how a value gets into a request.
func TestPlace(t *testing.T) {
	body := request(`{"action":"bash","command":"§","metadata":{"n":§§}}`, "", "1")
	if !json.Valid(body) || !bytes.Contains(body, []byte(`"command":"1","metadata":{"n":1}`)) {
		t.Errorf("%s", body)
	}
	if got := string(place(`"§"`, "a\"\\\n\xff")); got != "\"a\\\"\\\\\\u000a\xff\"" {
		t.Errorf("%q", got)
	}
	if !meets("DENIED A b", "DENIED A") || meets("DENIED AB", "DENIED A") || !meets("B", "A or B") || meets("C", "A or B") {
		t.Error("an answer is compared by words")
	}
}
