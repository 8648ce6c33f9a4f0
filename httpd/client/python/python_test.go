package python

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"bailiff/fuzz/kit/blocks"
	"bailiff/httpd/client/drive"
)

// TestClient holds the client to what the Go client is held to, with every interpreter there is.
func TestClient(t *testing.T) {
	for _, one := range Interpreters(t, "../../..") {
		t.Run(one.Command[2], func(t *testing.T) { drive.Client(t, one.Command, "../../..", one.MLDSA) })
	}
}

// checked is a program that says which methods of the client an example names that do not exist. It calls none of them.
const checked = `
import ast, sys
import bailiff_client, bailiff_client.verify
tree = ast.parse(sys.stdin.read())
for node in ast.walk(tree):
    if isinstance(node, ast.ImportFrom):
        exec(compile(ast.Module([node], []), "example", "exec"))
classes = [bailiff_client.Bailiff, bailiff_client.verify.Keys, bailiff_client.verify.Once]
for node in ast.walk(tree):
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if not any(hasattr(one, node.func.attr) for one in classes):
            sys.exit("no method " + node.func.attr)
`

// TestPages holds the examples in Python of the documents to the client.
func TestPages(t *testing.T) {
	interpreter := Interpreters(t, "../../..")[0].Command[2]
	check := func(example string) string {
		command := exec.Command(interpreter, "-c", checked)
		command.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=.")
		command.Stdin = strings.NewReader(example)
		output, err := command.CombinedOutput()
		if err != nil && len(output) == 0 {
			t.Fatal(err)
		}
		return string(output)
	}
	found := 0
	for _, page := range []string{"clients.md", "verify.md"} {
		for _, b := range blocks.Of(t, "../../../docs/"+page) {
			if b.Language == "python" {
				found++
				if problem := check(b.Text); problem != "" {
					t.Errorf("%s: %s", b, problem)
				}
			}
		}
	}
	if found < 2 {
		t.Errorf("%d examples, want 2", found)
	}
	for _, wrong := range []string{"service.autorize({})", "from bailiff_client import Bailif", "if"} {
		if check(wrong) == "" {
			t.Errorf("%q: no fault was found", wrong)
		}
	}
}
