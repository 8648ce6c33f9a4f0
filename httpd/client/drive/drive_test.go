package drive

import (
	"os/exec"
	"testing"
)

// counted is a test whose errors are counted, and fail nothing.
type counted struct {
	testing.TB
	errors int
}

func (c *counted) Errorf(string, ...any) { c.errors++ }

// says is a driver that does nothing, and has one result.
func says(result string) []string {
	return []string{"sh", "-c", `cat >/dev/null; echo "$1"`, "sh", `{"result":` + result + `}`}
}

// list is a JSON array of one text, so many times.
func list(text string, n int) string {
	all := "["
	for i := range n {
		if i > 0 {
			all += ","
		}
		all += `"` + text + `"`
	}
	return all + "]"
}

// TestCarelessClients is the canary: clients that allow, accept or lose everything are found.
func TestCarelessClients(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh")
	}
	const root = "../../.."
	var file vectorFile
	read(t, root+"/docs/vectors/attestations.json", &file)
	var tests []struct{}
	read(t, root+"/httpd/client/testdata/answers.json", &tests)
	for name, careless := range map[string]func(testing.TB){
		"allows everything":     func(t testing.TB) { answers(t, says(list("ALLOWED", len(tests))), root) },
		"denies everything":     func(t testing.TB) { answers(t, says(list("unreachable", len(tests))), root) },
		"accepts everything":    func(t testing.TB) { vectors(t, says(list("ok", len(file.Vectors))), root, true) },
		"refuses everything":    func(t testing.TB) { vectors(t, says(list("malformed", len(file.Vectors))), root, true) },
		"checks no second half": func(t testing.TB) { vectors(t, says(list("ok", len(file.Vectors))), root, false) },
		"fetches nothing":       func(t testing.TB) { cache(t, says(list("malformed", 8)), root) },
		"says that it sent":     func(t testing.TB) { cache(t, says(list("keys", 8)), root) },
	} {
		found := &counted{TB: t}
		careless(found)
		if found.errors == 0 {
			t.Errorf("a client that %s is not found", name)
		}
	}
}
