package typescript

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bailiff/fuzz/kit/blocks"
	"bailiff/fuzz/kit/npm"
	"bailiff/httpd/client/drive"
)

// TestClient holds the client to what the Go client is held to.
func TestClient(t *testing.T) { drive.Client(t, Driver(t), "../../..", true) }

// globals are what a reader of the documents has already.
const globals = `import type { Account, Address, Transport } from 'viem'
declare global {
  const apiKey: string, txCommit: string, command: string, attestation: string, policy: string
  const account: Account, to: Address, usdc: Address, value: bigint, transport: Transport
}
`

// compile compiles examples of the documents in the client's folder, and returns what the compiler says.
func compile(t *testing.T, examples ...string) string {
	t.Helper()
	client := Build(t)
	dir, err := os.MkdirTemp(client, "pages-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	arguments := []string{
		filepath.Join(client, "node_modules", "typescript", "bin", "tsc"), "--noEmit", "--strict", "--skipLibCheck", "--target", "es2022",
		"--module", "nodenext", "--lib", "es2023,dom,dom.asynciterable",
	}
	for i, text := range append(examples, globals) {
		path := filepath.Join(dir, fmt.Sprintf("example%d.mts", i))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, path)
	}
	output, err := npm.Run(t, compileTime, client, nil, "node", arguments...)
	if err != nil && len(output) == 0 {
		t.Fatal(err)
	}
	return string(output)
}

// TestPages compiles the examples in TypeScript of the documents.
func TestPages(t *testing.T) {
	var examples []string
	for _, page := range []string{"clients.md", "verify.md"} {
		for _, b := range blocks.Of(t, "../../../docs/"+page) {
			if b.Language == "ts" {
				examples = append(examples, b.Text)
			}
		}
	}
	if len(examples) < 4 {
		t.Errorf("%d examples, want 4", len(examples))
	}
	if problem := compile(t, examples...); problem != "" {
		t.Errorf("%s\n%s", problem, strings.Join(examples, "----\n"))
	}
	if problem := compile(t, strings.Replace(examples[0], "service.authorize", "service.autorize", 1)); !strings.Contains(problem, "autorize") {
		t.Errorf("a method that does not exist compiles: %s", problem)
	}
}
