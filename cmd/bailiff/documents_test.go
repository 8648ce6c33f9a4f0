package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bailiff/fuzz/kit/blocks"
	"bailiff/fuzz/kit/certificate"
	"bailiff/fuzz/kit/port"
)

// walked are the pages whose blocks of shell TestPages runs, in this order, against one service. TestTutorial and TestFirstIntent run the
// others.
var walked = []string{"README", "api", "authzen", "console", "hooks", "upgrading", "approvals", "mcp", "clients", "runbooks", "operating"}

// unrunnable are the blocks that no walk runs, by page and beginning, each with the reason. TestBlocks checks their syntax, and TestDocuments
// their commands, flags and settings.
var unrunnable = map[string]string{
	"README make run":                                      "newWalk does what make run does, and make test runs this test",
	"README bin/bailiff quickstart":                        "writes settings of an agent that is installed; hook-setup.txtar installs",
	"README SVC_HOSTED=true":                               "needs a second service that stays; hosted.txtar registers and deploys",
	"approvals bailiff approvers confirm alice --key":      "needs a passkey, which httpd/e2e.TestApprovals makes",
	"approvals bailiff approvers suspend alice":            "needs a passkey, which httpd/e2e.TestApprovalBounds makes",
	"clients go mod edit":                                  "writes into another module; httpd/client.TestPages compiles what it prepares",
	"clients bailiff send":                                 "needs a node of a chain, which runtime/gateway/peer starts",
	"clients npm ci":                                       "needs a node of a chain, which runtime/gateway/peer starts",
	"hooks bailiff quickstart":                             "writes settings of an agent that is installed; hook-setup.txtar installs",
	"mcp bailiff mcp pins":                                 "needs a server that has changed a tool, which httpd/mcpproxy/e2e has",
	"operating source <(bailiff completion":                "is for a shell that a person uses; completion.txtar completes",
	"operating cd dist":                                    "needs a release, which cmd/release makes",
	"operating bailiff webhooks add https://hooks.slack":   "would send to Slack, ntfy and a mail server; runtime/webhook has them played",
	"operating SVC_LOG_LEVEL":                              "has lines of a file of settings; cmd/bailiff/settings reads them",
	"operating bailiff events export 3f1e":                 "names an attestation by its id; cmd/bailiff/client exports one",
	"operating systemctl stop bailiff\nbailiff operator":   "takes an operator's key that is lost; rotate.txtar does it",
	"operating bailiff restore /backup/bailiff-2026-11-23": "is for a new machine; cmd/bailiff/backup restores there",
	"operating helm install":                               "needs a cluster; fuzz/chart renders the chart, and TestChartProbes asks what its probes ask",
	"operating bailiff clock accept":                       "needs a clock that jumped, which clock.txtar has",
	"operating bailiff events read /archive":               "reads files that retention has written over days; retention.txtar has some",
	"operating bailiff bench":                              "takes half a minute, and compares with a run after a change; cmd/bailiff/bench has both",
	"operating go tool pprof":                              "takes ten seconds, and opens a prompt",
	"runbooks bailiff approvers suspend":                   "needs a passkey, which httpd/e2e.TestApprovalBounds makes",
	"runbooks mv /etc/bailiff/keys":                        "needs instances over a database; cmd/bailiff/serve.TestSignersOfStore starts some with other keys",
	"runbooks cat new-peers-ca.pem":                        "needs instances that trust each other; cmd/bailiff/serve has their certificates read again",
	"runbooks psql \"$ADMIN_URL\" -c \"CREATE":             "needs a database, in which runtime/ledger/postgres.TestRole makes roles",
	"runbooks psql \"$ADMIN_URL\" -c 'DROP":                "needs a database, in which runtime/ledger/postgres.TestRole makes roles",
}

// front is the bailiff that blocks find. It says yes where the command asks, and ends what would run until it is interrupted as soon as it
// runs: those that follow or listen, and services, which have new data, or those of the running service in its place.
const front = `#!/bin/bash
real="$WALK/bin/bailiff" ready=.
case "$*" in
serve\ --*) ready=msg=serving; systemctl stop ;;
serve) ready=msg=serving; export SVC_DATA_DIR=$(mktemp -d "$WALK/data.XXXX") ;;
mcp-proxy*) ready="clients find" ;;
*--follow*|"webhooks listen"*) ;;
"events verify"*) systemctl stop; "$real" "$@"; code=$?; systemctl start; exit $code ;;
*) exec "$real" "$@" <<< y ;;
esac
[ "$1" != serve ] || export SVC_LISTEN="${SVC_LISTEN/$WALK_ADDRESS/$WALK_SECOND}" SVC_ADMIN_LISTEN=off SVC_CONSOLE_LISTEN=off
out=$(mktemp "$WALK/out.XXXX") code=
"$real" "$@" > "$out" 2>&1 & pid=$!
for ((i = 0; i < 400; i++)); do
  if grep -q "$ready" "$out"; then
    kill -INT $pid; wait $pid; code=$?
    [ $code -eq 130 ] && code=0
    break
  fi
  kill -0 $pid 2>/dev/null || break
  sleep 0.05
done
cat "$out"
case "$*" in serve\ --*) systemctl start ;; esac
exit ${code:-1}
`

// A manual is a walk through several pages: its service can be stopped and started, and blanks are filled in.
type manual struct {
	*walk
	texts []string // pairs: a text of a page, and the one for this machine
	holds int      // that were opened
}

// newManual prepares what pages take for granted: keys, policies, certificates, and systemctl.
func newManual(t *testing.T) *manual {
	t.Helper()
	var ports []string
	for len(ports) < 5 {
		free, err := port.Free()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(ports, free) {
			ports = append(ports, free)
		}
	}
	m := &manual{walk: newWalk(t, "SVC_ADMIN_LISTEN=127.0.0.1:"+ports[0], "SVC_WEBHOOK_ALLOW_PRIVATE=true", "SVC_CONSOLE_LISTEN=127.0.0.1:"+ports[2])}
	m.texts = []string{
		"https://bailiff.example.com/", "http://" + m.address + "/", "--url https://bailiff.example.com", "--url http://" + m.address,
		"SVC_LISTEN=0.0.0.0:8787", "SVC_LISTEN=127.0.0.1:" + ports[1], "127.0.0.1:8788", "127.0.0.1:" + ports[0],
		"127.0.0.1:8789", "127.0.0.1:" + ports[3], "--port 8789", "--port " + ports[3], "127.0.0.1:8790", "127.0.0.1:" + ports[4], "https://search.example/", "http://127.0.0.1:" + ports[3] + "/",
		"https://example.com/hook", "http://127.0.0.1:" + ports[3] + "/", "bin/bailiff ", "bailiff ", "/backup/", m.dir + "/backup/", "/run/bailiff", m.dir + "/run",
	}
	manager := httptest.NewServer(http.HandlerFunc(m.systemctl))
	t.Cleanup(manager.Close)
	m.environ = append(m.environ, "WALK="+m.dir, "WALK_ADDRESS="+m.address, "WALK_SECOND=127.0.0.1:"+ports[1], "PATH="+filepath.Join(m.dir, "front")+":"+os.Getenv("PATH"))
	m.write("front/bailiff", front)
	m.write("front/systemctl", "#!/bin/sh\nexec curl -sf -X POST "+manager.URL+"/$1\n")
	m.write("intent.json", transfer)
	if err := certificate.Make(m.dir, "ca", "bailiff.example.com", "production", "test"); err != nil {
		t.Fatal(err)
	}
	m.must(`mkdir backup run
cp config/operator.key operator.key
bailiff init --for trader -o config/mine.md && mv config/mine.md warranty.md && mv config/mine.test.yaml config/warranty.test.yaml
bailiff sign --key operator.key warranty.md
bailiff keys create --email agent@example.com --full-grant > agent.key
cp bailiff.example.com.pem fullchain.pem; cp bailiff.example.com.key privkey.pem
cp fullchain.pem new-fullchain.pem; cp privkey.pem new-privkey.pem; chmod 0600 privkey.pem
mkdir -p cmd/bailiff/policy/example && cp warranty.md cmd/bailiff/policy/example`)
	build := exec.Command("go", "build", "-o", filepath.Join(m.dir, "front", "age-keygen"), "filippo.io/age/cmd/age-keygen")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return m
}

// transfer is an intent that the example policy allows.
const transfer = `{"framework": "custom", "agentId": "a", "chainId": 8453, "txCommit": "b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c",
  "intent": {"action": "wallet.transfer", "targetAddress": "0x00000000000000000000000000000000000000aa", "amount": "0.1", "maxFee": "0.001", "metadata": {"desk": "desk-1"}}}`

// write writes a program.
func (m *manual) write(name, text string) {
	m.t.Helper()
	path := filepath.Join(m.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
		m.t.Fatal(err)
	}
}

// must runs what a page takes for granted, or what a blank needs, and returns the last line of its output.
func (m *manual) must(script string) string {
	m.t.Helper()
	output, err := m.try(script)
	if err != nil {
		m.t.Fatalf("%v\n%s\n%s", err, script, output)
	}
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return lines[len(lines)-1]
}

// systemctl does to the service what the path says.
func (m *manual) systemctl(w http.ResponseWriter, r *http.Request) {
	var err error
	switch r.URL.Path {
	case "/start":
		err = m.start()
	case "/stop":
		err = m.stop()
	case "/restart":
		if err = m.stop(); err == nil {
			err = m.start()
		}
	case "/reload":
		err = m.service.Process.Signal(syscall.SIGHUP)
	default:
		err = errors.New("no such command")
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

const (
	agentKey    = `bailiff keys list | awk '$2 == "agent@example.com" { id = $1; exit } END { print id }'`
	lastWebhook = `bailiff webhooks list --key $(` + agentKey + `) | awk 'END { print $1 }'`
)

// publicKey is what keygen prints.
var publicKey = regexp.MustCompile(`(?m)^[A-Za-z0-9_-]{43}$`)

// fill fills in the blanks of a block, with a new thing for each.
func (m *manual) fill(text string) string {
	for _, blank := range []struct{ name, find string }{
		{"OLD-KEY-ID", "bailiff keys create --email old@example.com > old-key; bailiff keys list | awk '$2 == \"old@example.com\" { id = $1 } END { print id }'"},
		{"HOLD-ID", "bailiff holds list | awk '$2 == \"PENDING\" { id = $1 } END { print id }'"},
		{"OLD-WEBHOOK-ID", lastWebhook},
		{"WEBHOOK-ID", lastWebhook},
		{"KEY-ID", agentKey},
		{"NEW-RECIPIENT", "sed -n 's/.*public key: //p' new-identity"},
	} {
		for strings.Contains(text, blank.name) {
			if blank.name == "HOLD-ID" {
				m.holds++
				m.must(fmt.Sprintf(`curl -s http://%s/v1/authorize -H "Authorization: Bearer $(cat agent.key)" -d '%s'`, shownAddress,
					strings.Replace(transfer, `"0.1"`, fmt.Sprintf(`"0.25%02d"`, m.holds), 1)))
			}
			text = strings.Replace(text, blank.name, m.must(blank.find), 1)
		}
	}
	if keys := publicKey.FindAllString(m.outputs, -1); len(keys) > 0 {
		text = strings.ReplaceAll(text, "SVC_OPERATOR_PUBLIC_KEY=…", "SVC_OPERATOR_PUBLIC_KEY="+keys[len(keys)-1])
	}
	return strings.NewReplacer(m.texts...).Replace(text)
}

// reasonFor returns the entry of unrunnable for a block, "" for none.
func reasonFor(b blocks.Block) string {
	for entry := range unrunnable {
		if strings.HasPrefix(strings.TrimSuffix(filepath.Base(b.Page), ".md")+" "+b.Text, entry) {
			return entry
		}
	}
	return ""
}

// TestPages runs the blocks of shell of documents on this machine, as their readers do.
func TestPages(t *testing.T) {
	m := newManual(t)
	m.environ = append(m.environ, "SVC_OPERATOR_PUBLIC_KEY="+m.must(`bailiff operator show | grep -oE "[A-Za-z0-9_-]{43}" | head -1`))
	ran, reasons := 0, map[string]bool{}
	for _, page := range walked {
		path := "../../docs/" + page + ".md"
		if page == "README" {
			path = "../../README.md"
		}
		for _, b := range blocks.Of(t, path) {
			if b.Language != "sh" || b.Heading == firstIntent {
				continue
			}
			if entry := reasonFor(b); entry != "" {
				reasons[entry] = true
				continue
			}
			for _, part := range parts(b.Text) {
				m.run(b, m.fill(part))
			}
			ran++
		}
	}
	for entry := range unrunnable {
		if !reasons[entry] {
			t.Errorf("no block begins as %q: remove it from unrunnable", entry)
		}
	}
	if ran < 30 {
		t.Errorf("%d blocks ran, want 30", ran)
	}
	if output, err := m.try("bailiff keys revoke no-such-key\ntrue"); err == nil {
		t.Errorf("a command that fails was not noticed: %s", output)
	}
}

// parts are the parts of a block to run one after another: a line with a blank begins one, since what fills it in may come from the lines before.
func parts(text string) (all []string) {
	for line := range strings.Lines(text) {
		if len(all) == 0 || strings.Contains(line, "-ID") || strings.Contains(line, "NEW-RECIPIENT") || strings.Contains(line, "=…") {
			all = append(all, "")
		}
		all[len(all)-1] += line
	}
	return all
}
