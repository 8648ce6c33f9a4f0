package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bailiff/bench/processor"
	"bailiff/fuzz/kit/port"
)

// figures are what was measured of one service.
type figures struct {
	start          time.Duration // from the start of the process to its first answer
	heap, resident int64         // bytes
	first, later   time.Duration // medians of a test-run of a key that was not used before, and of one that was used
}

// patience is how long a service may take to start.
const patience = 2 * time.Minute

var serving = regexp.MustCompile(`msg=serving .*address=(\S+)`)

// measure starts the service on a data folder and measures it.
func measure(ctx context.Context, service, data string, secrets []string) (f figures, err error) {
	profiler, err := port.FreeAddress()
	if err != nil {
		return f, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	command := exec.CommandContext(ctx, service, "serve")
	command.Env = append(plainEnviron(), "SVC_HOSTED=true", "SVC_DATA_DIR="+data, "SVC_LISTEN=127.0.0.1:0", "SVC_ADMIN_LISTEN=off", "SVC_PPROF_LISTEN="+profiler, "SVC_RATE_LIMIT_KEY=0", "SVC_RATE_LIMIT_IP=0")
	log, err := command.StderrPipe()
	if err != nil {
		return f, err
	}
	begun := time.Now()
	if err := command.Start(); err != nil {
		return f, err
	}
	defer func() {
		stopped := errors.Join(command.Process.Signal(syscall.SIGTERM), command.Wait())
		err = errors.Join(err, stopped)
	}()
	address, rest := awaitAddress(log)
	if address == "" {
		return f, fmt.Errorf("the service did not start:\n%s", rest)
	}
	go func() { _, _ = io.Copy(io.Discard, log) }() // a full pipe would stop it
	base := "http://" + address
	if _, err := fetch(base + "/healthz"); err != nil {
		return f, err
	}
	f.start = time.Since(begun)
	if f.heap, err = heap("http://" + profiler); err != nil {
		return f, err
	}
	if f.resident, err = processor.Resident(command.Process.Pid); err != nil {
		return f, err
	}
	f.first, f.later, err = uses(base, secrets)
	return f, err
}

// awaitAddress reads the log up to where the service serves, and returns what it said where it does not.
func awaitAddress(log io.Reader) (address, said string) {
	var all strings.Builder
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if found := serving.FindStringSubmatch(lines.Text()); found != nil {
			return found[1], ""
		}
		fmt.Fprintln(&all, lines.Text())
	}
	return "", all.String()
}

// heap is what lives on the service's heap after a collection, as its profiles tell.
func heap(profiler string) (int64, error) {
	text, err := fetch(profiler + "/debug/pprof/heap?gc=1&debug=1")
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`# HeapAlloc = (\d+)`).FindSubmatch(text)
	if found == nil {
		return 0, errors.New("the heap profile does not tell HeapAlloc")
	}
	return strconv.ParseInt(string(found[1]), 10, 64)
}

// uses asks for a test-run with each key twice, and returns the medians.
func uses(base string, secrets []string) (first, later time.Duration, err error) {
	if len(secrets) == 0 {
		return 0, 0, nil
	}
	var taken [2][]time.Duration
	for _, secret := range secrets {
		for turn := range taken {
			begun := time.Now()
			if err := testRun(base, secret); err != nil {
				return 0, 0, err
			}
			taken[turn] = append(taken[turn], time.Since(begun))
		}
	}
	return median(taken[0]), median(taken[1]), nil
}

// testRun asks about an intent that the policy allows.
func testRun(base, secret string) error {
	body := `{"framework":"custom","agentId":"a","txCommit":"` + strings.Repeat("ab", 32) + `","intent":{"action":"bash","command":"ls","task_id":"t"}}`
	request, err := http.NewRequest(http.MethodPost, base+"/v1/authorize/test-run", strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+secret)
	text, err := do(request)
	if err == nil && !bytes.Contains(text, []byte(`"status":"ALLOWED"`)) {
		err = fmt.Errorf("a test-run is answered %s", text)
	}
	return err
}

func fetch(url string) ([]byte, error) {
	request, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	return do(request)
}

var client = &http.Client{Timeout: patience}

// do sends a request, whose answer must be a success.
func do(request *http.Request) ([]byte, error) {
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s %s", request.URL.Path, response.Status, text)
	}
	return text, err
}

func median(taken []time.Duration) time.Duration {
	slices.Sort(taken)
	return taken[len(taken)/2]
}

// plainEnviron is the environment without settings of a service that the developer may have.
func plainEnviron() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "SVC_") || strings.HasPrefix(entry, "WARRANTY_PATH=")
	})
}
