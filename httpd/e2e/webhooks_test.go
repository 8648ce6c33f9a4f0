package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// delivery is one request to a receiver.
type delivery struct {
	path, id, timestamp, signature string
	body                           []byte
	payload                        struct {
		Type      string
		Timestamp time.Time
		Data      logged
	}
}

// receiver takes deliveries.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	all    []delivery
	answer func(w http.ResponseWriter, seen int) // of the delivery so far, this one included; nil: 204
}

func newReceiver(t *testing.T, answer func(w http.ResponseWriter, seen int)) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP keeps a delivery and answers it.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the sender was killed
	}
	header := request.Header
	d := delivery{path: request.URL.Path, id: header.Get("webhook-id"), timestamp: header.Get("webhook-timestamp"), signature: header.Get("webhook-signature"), body: body}
	_ = json.Unmarshal(body, &d.payload) // check finds what is wrong
	r.mu.Lock()
	r.all = append(r.all, d)
	seen := 0
	for i := range r.all {
		if r.all[i].id == d.id {
			seen++
		}
	}
	r.mu.Unlock()
	if r.answer == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	r.answer(w, seen)
}

func (r *receiver) deliveries() []delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// await waits until there are n deliveries, a moment longer so that one too many is seen, and returns them.
func (r *receiver) await(t *testing.T, n int, patience time.Duration) []delivery {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end) && len(r.deliveries()) < n; {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond)
	return r.deliveries()
}

// check verifies a delivery as Standard Webhooks has it ("Verifying webhook authenticity"), with code of its own.
func (d *delivery) check(secret string) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", d.id, d.timestamp, d.body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	sent, err := strconv.ParseInt(d.timestamp, 10, 64)
	switch {
	case err != nil || time.Since(time.Unix(sent, 0)).Abs() > 5*time.Minute:
		return fmt.Errorf("webhook-timestamp %q", d.timestamp)
	case d.id == "" || !slices.Contains(strings.Fields(d.signature), want):
		return fmt.Errorf("webhook-signature %q of webhook-id %q is not %q", d.signature, d.id, want)
	case d.payload.Type == "" || d.payload.Timestamp.IsZero() || d.payload.Data.LSN == 0:
		return fmt.Errorf("the payload %s", d.body)
	}
	return nil
}

// webhook is the descriptor of one.
type webhook struct {
	ID, URL, Secret string
	Events          []string
	Disabled        bool
}

const allTopics = `["intent.allowed","intent.denied","intent.pending","hold.resolved","hold.expired","policy.deployed"]`

// hook registers a webhook.
func (r *running) hook(key, url, topics string) webhook {
	r.t.Helper()
	return read[webhook](r.t, r.send("POST", "/v1/webhooks", key, fmt.Sprintf(`{"url":%q,"events":%s}`, url, topics)), 201)
}

// customer is a key with the plan growth and a policy.
func (r *running) customer(policy string) (key string, id string, mine operator) {
	r.t.Helper()
	me := r.register()
	r.must("keys", "set-plan", me.KeyID, "growth")
	mine = newOperator(r.t)
	r.deploy(me.APIKey, mine, policy)
	return me.APIKey, me.KeyID, mine
}

// TestWebhooks registers receivers and has everything happen that they are told of, and a test-run, of which they are not.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	service := newHosted(t, "SVC_WEBHOOK_ALLOW_PRIVATE=true").start()
	key, _, mine := service.customer(mailPolicy)
	all, few := newReceiver(t, nil), newReceiver(t, nil)
	hook, narrow := service.hook(key, all.URL+"/all", allTopics), service.hook(key, few.URL+"/few", `["intent.denied"]`)
	if !strings.HasPrefix(hook.Secret, "whsec_") || hook.Disabled {
		t.Errorf("registered: %+v", hook)
	}
	if list := service.send("GET", "/v1/webhooks", key, ""); strings.Contains(list.body, "whsec_") || len(read[[]webhook](t, list, 200)) != 2 {
		t.Errorf("the list: %s", list.body)
	}
	stranger, _, _ := service.customer(mailPolicy) // whose events are its own alone
	service.decides(t, "a stranger's", stranger, removing, "DENIED SVC_POLICY_VIOLATION_BLOCKED_COMMAND")
	service.ask("/v1/authorize/test-run", key, listing)
	service.ask("/v1/authorize/test-run", key, removing)
	service.ask("/v1/authorize/test-run", key, mailing)
	service.decides(t, "allowed", key, listing, "ALLOWED")
	service.decides(t, "denied", key, removing, "DENIED SVC_POLICY_VIOLATION_BLOCKED_COMMAND")
	held := service.decides(t, "held", key, mailing, pendingMail)
	service.resolve(key, mine, held.HoldID, "ALLOWED").wants(t, "resolved", "200")
	service.deploy(key, mine, mailPolicy+"\n## execution_limits\nmax_tool_calls_per_hour: 10\n")

	types := map[string]int{}
	for _, d := range all.await(t, 5, 10*time.Second) {
		types[d.payload.Type]++
		if err := d.check(hook.Secret); err != nil || d.path != "/all" || !strings.HasPrefix(d.id, hook.ID+".") {
			t.Errorf("%s: %v: %+v", d.payload.Type, err, d)
		}
		if d.check(narrow.Secret) == nil {
			t.Error("a delivery verifies with another webhook's secret")
		}
		if d.body[len(d.body)-2] ^= 1; d.check(hook.Secret) == nil {
			t.Error("a changed delivery verifies")
		}
	}
	if want := map[string]int{"intent.allowed": 1, "intent.denied": 1, "intent.pending": 1, "hold.resolved": 1, "policy.deployed": 1}; !maps.Equal(types, want) {
		t.Errorf("delivered: %v", types)
	}
	if got := few.deliveries(); len(got) != 1 || got[0].payload.Type != "intent.denied" || got[0].check(narrow.Secret) != nil {
		t.Errorf("the receiver of denials got %d: %+v", len(got), got)
	}
	service.send("DELETE", "/v1/webhooks/"+hook.ID, stranger, "").wants(t, "somebody else's webhook", "404 SVC_NOT_FOUND")
	service.send("DELETE", "/v1/webhooks/"+hook.ID, key, "").wants(t, "removing", "204")
	service.send("DELETE", "/v1/webhooks/"+hook.ID, key, "").wants(t, "removing again", "404 SVC_NOT_FOUND")
	service.decides(t, "after removing", key, listing, "ALLOWED")
	if n := len(all.await(t, 6, 300*time.Millisecond)); n != 5 {
		t.Errorf("a removed webhook got %d deliveries more", n-5)
	}
}

// TestWebhookTrouble has receivers that fail once, redirect, and are gone.
func TestWebhookTrouble(t *testing.T) {
	t.Parallel()
	service := newHosted(t, "SVC_WEBHOOK_ALLOW_PRIVATE=true").start()
	key, _, _ := service.customer(mailPolicy)
	failing := newReceiver(t, func(w http.ResponseWriter, seen int) {
		if seen == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	var redirecting *receiver
	redirecting = newReceiver(t, func(w http.ResponseWriter, seen int) {
		w.Header().Set("Location", redirecting.URL+"/elsewhere")
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	gone := newReceiver(t, func(w http.ResponseWriter, seen int) { w.WriteHeader(http.StatusGone) })
	secret := service.hook(key, failing.URL, allTopics).Secret
	service.hook(key, redirecting.URL, allTopics)
	service.hook(key, gone.URL, allTopics)
	service.decides(t, "allowed", key, listing, "ALLOWED")
	got := failing.await(t, 2, 15*time.Second)
	if len(got) != 2 || got[0].id != got[1].id || got[1].check(secret) != nil {
		t.Errorf("a delivery that failed once came %d times: %+v", len(got), got)
	}
	for _, d := range redirecting.deliveries() {
		if d.path != "/" {
			t.Errorf("a redirect was followed to %s", d.path)
		}
	}
	service.decides(t, "allowed again", key, listing, "ALLOWED")
	if to := gone.await(t, 2, 15*time.Second); len(to) != 2 || to[0].id == to[1].id {
		t.Errorf("who answered 410 got %+v, not two events", to)
	}
	for _, hook := range read[[]webhook](t, service.send("GET", "/v1/webhooks", key, ""), 200) {
		if hook.Disabled {
			t.Errorf("disabled by few failures: %+v", hook)
		}
		if got := service.send("POST", "/v1/webhooks/"+hook.ID+"/enable", key, ""); got.status != 204 {
			t.Errorf("enabling: %s", got.body)
		}
	}
}

// TestWebhookAddresses registers receivers in places where none may be.
func TestWebhookAddresses(t *testing.T) {
	t.Parallel()
	service := newHosted(t).start()
	key, _, _ := service.customer(mailPolicy)
	for _, url := range []string{
		"https://127.0.0.1/", "https://localhost/", "https://2130706433/", "https://0x7f.1/", "https://0177.0.0.1/", "https://[::1]/", "https://[::ffff:127.0.0.1]/",
		"https://10.0.0.1/", "https://169.254.169.254/latest/meta-data/", "https://192.168.1.1:8443/", "http://93.184.216.34/", "ftp://93.184.216.34/",
		"https://user:secret@93.184.216.34/", "https:///", "//93.184.216.34/", "",
	} {
		got := service.send("POST", "/v1/webhooks", key, fmt.Sprintf(`{"url":%q,"events":["intent.denied"]}`, url))
		if got.code() != "400 SVC_WEBHOOK_URL_REFUSED" && !(url == "" && got.status == 400) {
			t.Errorf("%s: %s", url, got.body)
		}
	}
	service.send("POST", "/v1/webhooks", key, `{"url":"https://93.184.216.34/","events":["intent.denied"]}`).wants(t, "a public address", "201")
}
