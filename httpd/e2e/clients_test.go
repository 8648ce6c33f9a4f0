package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "bailiff/httpd/client"
	"bailiff/httpd/client/drive"
	"bailiff/httpd/client/python"
	"bailiff/httpd/client/typescript"
	"bailiff/httpd/client/verify"
)

// story is what a client finds that does what drive's job service does.
var story = map[string]any{
	"allowed": "ALLOWED", "repeated": true, "verified": "bash", "another": "commitment", "twice": "used",
	"denied": "DENIED SVC_POLICY_VIOLATION_BLOCKED_COMMAND", "testRun": "DENIED", "invalid": "refused", "stranger": "refused",
	"unattested": "refused", "pending": "PENDING", "looked": "PENDING", "resolved": "ALLOWED", "approved": "ALLOWED", "missing": "refused",
}

// socketSite is a service that also serves on a socket, whose address comes second.
func socketSite(t *testing.T) (service *running, addresses []string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "bailiff-") // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	socket := filepath.Join(folder, "api.sock")
	service = newSite(t, mailPolicy, "SVC_LISTEN_UNIX="+socket).start()
	return service, []string{service.base, "unix:" + socket}
}

// TestClients has the clients in TypeScript and Python tell the story, over TCP and over a socket.
func TestClients(t *testing.T) {
	t.Parallel()
	drivers := map[string]func(*testing.T) (commands [][]string, without []bool){
		"typescript": func(t *testing.T) ([][]string, []bool) { return [][]string{typescript.Driver(t)}, []bool{false} },
		"python": func(t *testing.T) (commands [][]string, without []bool) {
			for _, one := range python.Interpreters(t, "../..") {
				commands, without = append(commands, one.Command), append(without, !one.MLDSA)
			}
			return commands, without
		},
	}
	for name, drivers := range drivers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			commands, without := drivers(t)
			service, addresses := socketSite(t)
			for i, command := range commands {
				for _, address := range addresses {
					service.tell(t, command, address, without[i])
				}
			}
		})
	}
}

// tell has a driver tell the story with a key of its own, and approves its hold while it waits.
func (r *running) tell(t *testing.T, command []string, address string, withoutPQC bool) {
	t.Helper()
	key := r.apiKey()
	want := map[string]any{}
	for name, value := range story {
		want[name] = value
	}
	if withoutPQC {
		want["unavailable"] = "unavailable"
	}
	var got map[string]any
	drive.Run(t, command, drive.Task{Do: "service", URL: address, APIKey: key, Issuer: "svc-core"}, &got, func(hold string) {
		time.Sleep(100 * time.Millisecond) // it waits by now, most likely
		r.must("holds", "approve", "--yes", "--url", r.base, "--api-key", key, "--key", r.path("operator.key"), hold)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s over %s: want (-) and got (+)\n%s", command, address, diff)
	}
}

// TestGoClient has the Go client tell the story, over TCP and over a socket.
func TestGoClient(t *testing.T) {
	t.Parallel()
	service, addresses := socketSite(t)
	for _, address := range addresses {
		key := service.apiKey()
		c, err := api.New(api.Config{URL: address, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(story, tellInGo(t, service, c, key)); diff != "" {
			t.Errorf("over %s: want (-) and got (+)\n%s", address, diff)
		}
	}
}

const commitment = "0000000000000000000000000000000000000000000000000000000000000000"

func tellInGo(t *testing.T, service *running, c *api.Client, key string) map[string]any {
	t.Helper()
	found := map[string]any{}
	request := func(intent api.Intent, nonce string) *api.Request {
		return &api.Request{Framework: "custom", AgentID: "a-1", TxCommit: commitment, RequestNonce: nonce, Intent: intent}
	}
	decide := func(c *api.Client, r *api.Request) *api.Answer {
		answer, err := c.Authorize(t.Context(), r)
		if err != nil {
			return &api.Answer{Status: wentWrong(err)}
		}
		return answer
	}
	listing := api.Intent{Action: "bash", Command: "ls"}
	allowed := decide(c, request(listing, "n-1"))
	found["allowed"], found["repeated"] = allowed.Status, decide(c, request(listing, "n-1")).Replayed
	keys, err := verify.New(c, "svc-core")
	if err != nil {
		t.Fatal(err)
	}
	expected := verify.Expected{TxCommit: commitment, PolicyHash: []string{allowed.PolicyHash}}
	claims, err := keys.Verify(t.Context(), allowed.Attestation, expected, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	found["verified"] = claims.Intent.Action
	expected.TxCommit = strings.Repeat("1", 64)
	_, err = keys.Verify(t.Context(), allowed.Attestation, expected, time.Now())
	found["another"] = verify.Reason(err)
	var once verify.Once
	found["twice"] = verify.Reason(errors.Join(once.Use(claims, time.Now()), once.Use(claims, time.Now())))
	removing := request(api.Intent{Action: "bash", Command: "rm -rf /"}, "")
	denied := decide(c, removing)
	found["denied"] = denied.Status + " " + denied.ErrorCode
	test, err := c.TestRun(t.Context(), removing)
	if err != nil {
		t.Fatal(err)
	}
	found["testRun"] = test.Status
	found["invalid"] = decide(c, &api.Request{Framework: "custom", Intent: listing}).Status
	found["stranger"] = decide(c.WithKey("sk_svc_x"), request(listing, "")).Status
	_, err = c.Submit(t.Context(), api.RPC, 1, allowed.Attestation, "eth_sendRawTransaction", "0x02")
	found["unattested"] = wentWrong(err)
	holdInGo(t, service, c, request(api.Intent{Action: "email.send", To: api.Recipients{"a@example.com"}}, ""), key, found)
	return found
}

// holdInGo is the part of the story in which a person decides.
func holdInGo(t *testing.T, service *running, c *api.Client, mail *api.Request, key string, found map[string]any) {
	t.Helper()
	pending, err := c.Authorize(t.Context(), mail)
	if err != nil {
		t.Fatal(err)
	}
	looked, err := c.Hold(t.Context(), pending.HoldID, 0)
	if err != nil {
		t.Fatal(err)
	}
	found["pending"], found["looked"] = pending.Status, looked.Status
	approved := make(chan struct{})
	go func() {
		defer close(approved)
		time.Sleep(100 * time.Millisecond)
		service.must("holds", "approve", "--yes", "--url", service.base, "--api-key", key, "--key", service.path("operator.key"), pending.HoldID)
	}()
	resolved, err := c.Hold(t.Context(), pending.HoldID, time.Minute)
	<-approved
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Authorize(t.Context(), mail)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Hold(t.Context(), "00000000-0000-4000-8000-000000000000", time.Minute)
	found["resolved"], found["approved"], found["missing"] = resolved.Status, again.Status, wentWrong(err)
}

// wentWrong names an error as drivers do.
func wentWrong(err error) string {
	var refused *api.Refused
	if errors.As(err, &refused) {
		return "refused"
	}
	text, _ := json.Marshal(fmt.Sprint(err))
	return string(text)
}
