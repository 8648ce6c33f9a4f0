// Package drive runs the Go client's tests against the clients in other languages.
//
// A driver is a program in the client's language. It reads one JSON object from standard input, whose member `do` names a job,
// and writes JSON objects to standard output, one a line; the last one has the member `result`:
//
//   - answers {url, count}: authorizes at url/0, url/1, …; the result is a status of each, refused or unreachable.
//   - slow {url}: authorizes once with a timeout of a second; the result is the outcome.
//   - retry {url, nonce}: authorizes once, with the nonce if there is one; the result is the outcome.
//   - vectors {url, file}: verifies each vector of docs/vectors by the key sets at url, at the vector's time; the result is
//     ok, or the reason of the refusal, of each.
//   - cache {url, times}: verifies an empty token at times; the result is the reason of each.
//   - capable {}: of a client that may lack algorithms, {ed25519, mldsa} says which it has.
//   - service {url, apiKey, issuer}: a story with a real service, in which it prints {hold} and waits for the resolution.
package drive

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// patience bounds one job.
const patience = 3 * time.Minute

// Task is what a driver is to do.
type Task struct {
	Do     string  `json:"do"`
	URL    string  `json:"url"`
	Count  int     `json:"count,omitempty"`
	Nonce  string  `json:"nonce,omitempty"`
	File   string  `json:"file,omitempty"`
	Times  []int64 `json:"times,omitempty"` // Unix seconds
	APIKey string  `json:"apiKey,omitempty"`
	Issuer string  `json:"issuer,omitempty"`
	// WithoutPQC leaves ML-DSA-65 unchecked, where the client can.
	WithoutPQC bool `json:"withoutPQC,omitempty"`
}

// Run has a driver do a task, and decodes its result. Of a hold that the driver waits for, onHold is told.
func Run(t testing.TB, command []string, task Task, result any, onHold func(id string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	input, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	driver := exec.CommandContext(ctx, command[0], command[1:]...)
	driver.Stdin = bytes.NewReader(input)
	var problems strings.Builder
	driver.Stderr = &problems
	output, err := driver.StdoutPipe()
	if err == nil {
		err = driver.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var last json.RawMessage
	lines := bufio.NewScanner(output)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		var line struct {
			Hold   string
			Result json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Errorf("%s says %s", command, lines.Bytes())
		}
		if line.Hold != "" {
			onHold(line.Hold)
		}
		last = line.Result
	}
	if err := driver.Wait(); err != nil || last == nil {
		t.Fatalf("%s, %s: %v\n%s", command, task.Do, err, problems.String())
	}
	if err := json.Unmarshal(last, result); err != nil {
		t.Fatalf("%s, %s: %v: %s", command, task.Do, err, last)
	}
}
