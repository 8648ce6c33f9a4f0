// Command hook measures how long a coding agent waits for its hook, beside floors of the same run: `bailiff hook`, a process for
// each call, against the smallest Go program that sends the same request; and the HTTP hook over one kept connection. Service and
// data are on the same machine, and a decision is durable before it is answered. Its last line reads
//
//	hook 10.2 ms, bare 4.1 ms, over it 6.1 ms (target: 10); HTTP hook p50 0.41 ms (target: 1)
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"bailiff/fuzz/kit/testbin/service"
)

const (
	policy = "version: 2.4.0\n\n## tool_calls\nallowed: bash\nbash.blocked_commands: rm -rf, rm -fr\n"
	event  = `{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/work","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"go test ./..."}}`
	// request is what the adapter makes of the event.
	request = `{"framework":"agent-hooks","agentId":"agent","txCommit":"4b36fd2a3fc62e2d11a5a3b6f9d4f2f6f5c46e3f45b8b3c0a9ab5b2f7b1d9e10","intent":{"action":"bash","cwd":"/work","command":"go test ./...","task_id":"s","metadata":{"adapter":"claude-code","tool":"Bash"}}}`
)

func main() {
	binary := flag.String("service", "bin/bailiff", "the service's binary")
	processes := flag.Int("processes", 100, "calls by a process each")
	requests := flag.Int("requests", 3000, "calls over a kept connection")
	bare := flag.String("bare", "", "be the least program instead: send the request to this address")
	flag.Parse()
	var err error
	if *bare != "" {
		err = ask(http.DefaultClient, *bare+"/v1/authorize", request, "ALLOWED")
	} else {
		err = run(*binary, *processes, *requests)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hook:", err)
		os.Exit(1)
	}
}

// ask sends one request, and holds the answer to a text that is in it.
func ask(client *http.Client, address, body, want string) error {
	sent, err := http.NewRequest(http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return err
	}
	sent.Header.Set("Authorization", "Bearer "+os.Getenv("SVC_API_KEY"))
	response, err := client.Do(sent)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || !bytes.Contains(text, []byte(want))) {
		err = fmt.Errorf("%d %s", response.StatusCode, text)
	}
	return err
}

// run starts the service, measures, and prints.
func run(binary string, processes, requests int) (err error) {
	folder, err := os.MkdirTemp("", "bailiff-bench-hook-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	served, err := service.Start(binary, folder, policy)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, served.Close()) }()
	if err := os.Setenv("SVC_API_KEY", served.Key); err != nil { // ask reads it, here and in the least program
		return err
	}
	address := served.Address
	self, err := os.Executable()
	if err != nil {
		return err
	}
	environment := append(service.Environment(), "SVC_API_KEY="+served.Key, "SVC_API_URL="+address, "SVC_FAIL_MODE=closed", "HOME="+folder, "XDG_CONFIG_HOME="+folder)
	var adapter, floor, kept []time.Duration
	for range processes { // by turns, so that both have the same neighbours
		if adapter, err = timed(adapter, func() error { return once(environment, "", binary, "hook") }); err != nil {
			return fmt.Errorf("bailiff hook: %w", err)
		}
		if floor, err = timed(floor, func() error { return once(environment, "", self, "-bare", address) }); err != nil {
			return fmt.Errorf("the least program: %w", err)
		}
	}
	for range requests {
		if kept, err = timed(kept, func() error { return ask(http.DefaultClient, address+"/v1/hooks/claude-code", event, "{}") }); err != nil {
			return fmt.Errorf("the HTTP hook: %w", err)
		}
	}
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	fmt.Printf("hook %.1f ms, bare %.1f ms, over it %.1f ms (target: 10); HTTP hook p50 %.2f ms (target: 1)\n",
		ms(median(adapter)), ms(median(floor)), ms(median(adapter)-median(floor)), ms(median(kept)))
	return nil
}

// timed appends how long a step takes.
func timed(all []time.Duration, step func() error) ([]time.Duration, error) {
	begin := time.Now()
	err := step()
	return append(all, time.Since(begin)), err
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// once runs a program with the event, and fails where it prints something: an allowed call has no answer.
func once(environment []string, want, program string, arguments ...string) error {
	command := exec.Command(program, arguments...)
	command.Env, command.Stdin = environment, strings.NewReader(event)
	text, err := command.CombinedOutput()
	if err == nil && string(text) != want {
		err = errors.New("it printed something")
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	return nil
}
