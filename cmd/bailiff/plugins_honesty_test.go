//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"bailiff/fuzz/hosts"
	"bailiff/fuzz/kit/page"
	"bailiff/runtime/hook"
)

// sooner has the plugins give the hook 10 s, and not 50: what takes a host a minute takes seconds here.
func sooner(t *testing.T, source string) {
	t.Helper()
	path := filepath.Join(source, "ask.ts")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const patience = "patience = 60_000\n"
	if !strings.Contains(string(text), patience) {
		t.Fatalf("ask.ts lacks %q", patience)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), patience, "patience = 20_000\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// onItsWay are shell commands that alter a plugin's event on its way to the hook, by the failure.
var onItsWay = map[string]string{
	"the event has 10 MiB":            "",
	"the event is not UTF-8":          `sed "s/ls/$(printf '\377\376')/" | `,
	"the event has a byte-order mark": `{ printf '\357\273\277'; cat; } | `,
	"two events come at once":         `{ cat > "$0.event"; cat "$0.event" "$0.event"; } | `,
}

// playFailure lets a failure happen to the hook that a host's plugin asks, and reports whether the call runs.
func playFailure(t *testing.T, folder string, call pluginCall, failure hosts.Failure, mode string) played {
	t.Helper()
	served, err := hosts.NewService(failure.Service)
	if err != nil {
		t.Fatal(err)
	}
	defer served.Close()
	alter := ""
	if failure.Event != nil {
		var known bool
		if alter, known = onItsWay[failure.Name]; !known {
			t.Fatalf("%s: onItsWay does not say how the event is altered", failure.Name)
		}
		if alter == "" {
			call.Input = json.RawMessage(`{"command":"` + strings.Repeat("x", 10<<20) + `"}`)
		}
	}
	timeout := ""
	if failure.HostTimeout > 0 {
		timeout = " --host-timeout " + failure.HostTimeout.String()
	}
	run := "exec bailiff"
	if alter != "" {
		run = alter + "bailiff"
	}
	command := scriptFor(t, "export SVC_API_URL="+served.URL+" SVC_FAIL_MODE="+mode+"\n"+`echo $$ > "$0.pid"; `+run+` "$@"`+timeout)
	if failure.Signal != 0 {
		go func() {
			<-served.Asked()
			text, _ := os.ReadFile(command + ".pid")
			if process, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
				_ = syscall.Kill(process, failure.Signal)
			}
		}()
	}
	return playPlugins(t, folder, command, call)[0]
}

// An ending is how a failure ends on a host in a mode.
type ending struct{ failure, host, mode string }

// playFailures plays every failure on every host in both modes, several at a time, since most of them wait.
func playFailures(t *testing.T, folder string) map[ending]played {
	var mu sync.Mutex
	ends := map[ending]played{}
	t.Run("failures", func(t *testing.T) {
		for _, failure := range hosts.Failures {
			for _, call := range shells {
				for _, mode := range []string{"closed", "open"} {
					e := ending{failure.Name, call.Host, mode}
					t.Run(fmt.Sprint(e), func(t *testing.T) {
						t.Parallel()
						p := playFailure(t, folder, call, failure, mode)
						mu.Lock()
						defer mu.Unlock()
						ends[e] = p
					})
				}
			}
		}
	})
	return ends
}

// TestPluginHonesty plays every failure on the hosts that have plugins, and holds docs/hooks.md to what becomes of the calls. In
// closed none runs; in open only those run whose service cannot be reached.
func TestPluginHonesty(t *testing.T) {
	folder := buildPlugins(t, sooner)
	hookHome(t)
	for _, call := range shells { // the canary of the table
		if p := playFailure(t, folder, call, hosts.Failure{Service: hosts.Allowing}, "closed"); !p.Runs {
			t.Errorf("%s: a call that the service allows does not run: %+v", call.Host, p)
		}
		if p := playFailure(t, folder, call, hosts.Failure{Service: hosts.Denying}, "open"); p.Runs {
			t.Errorf("%s: a call that the service denies runs", call.Host)
		}
	}
	ends := playFailures(t, folder)
	var table strings.Builder
	table.WriteString("| failure |")
	for _, call := range shells {
		for _, mode := range []string{"closed", "open"} {
			fmt.Fprintf(&table, " %s, %s |", hook.Find(call.Host).Title, mode)
		}
	}
	table.WriteString("\n|---|" + strings.Repeat("---|", 2*len(shells)) + "\n")
	for _, failure := range hosts.Failures {
		fmt.Fprintf(&table, "| %s |", failure.Name)
		unreachable := failure.Signal == 0 && failure.Event == nil && failure.Service != hosts.Busy
		for _, call := range shells {
			for _, mode := range []string{"closed", "open"} {
				p := ends[ending{failure.Name, call.Host, mode}]
				t.Logf("%s, %s, %s: %.200s", call.Host, failure.Name, mode, p.Reason)
				if p.Runs != (unreachable && mode == "open") {
					t.Errorf("%s, %s, %s: the call runs: %v", call.Host, failure.Name, mode, p.Runs)
				}
				table.WriteString(map[bool]string{true: " **runs** |", false: " stopped |"}[p.Runs])
			}
		}
		table.WriteString("\n")
	}
	page.Hold(t, filepath.Join("..", "..", "docs", "hooks.md"), "plugins", "go test ./cmd/bailiff -run TestPluginHonesty -rewrite", table.String())
}
