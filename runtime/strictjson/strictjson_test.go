package strictjson

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzReadDocument: what is accepted says the same to the standard decoder, has each name once, and is one value; nothing
// panics.
func FuzzReadDocument(f *testing.F) {
	for _, seed := range []string{
		`{"name":"x","at":1,"list":["a"]}`, `{"name":"\ud83d\ude00","at":-9,"list":[]}`, `{"name":"\ud83d","at":1}`, `{"name":"x","at":1e2}`,
		`{"name":"x","name":"y","at":1}`, `{"name":"x","at":1}{}`, "{\"name\":\"\xff\",\"at\":1}", `{"Name":"x","at":1}`, `{"name":"\\ud800","at":1} `,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var name string
		var at int64
		var elements []string
		problem := Document("the body", body, []Member{Text("name", true, 100, &name), Integer("at", &at), List("list", false, func(value json.RawMessage) string {
			element, problem := String(value)
			elements = append(elements, element)
			return problem
		})})
		if problem != "" {
			if !utf8.ValidString(problem) {
				t.Errorf("%q", problem)
			}
			return
		}
		var plain struct {
			Name string   `json:"name"`
			At   int64    `json:"at"`
			List []string `json:"list"`
		}
		if err := json.Unmarshal(body, &plain); err != nil || plain.Name != name || plain.At != at || len(plain.List) != len(elements) {
			t.Errorf("%s is read as %q %d %q and %+v %v", body, name, at, elements, plain, err)
		}
		if !strings.Contains(string(body), `\`) && strings.Count(string(body), `"name"`) > 2 {
			t.Errorf("%s has a name twice", body)
		}
	})
}
