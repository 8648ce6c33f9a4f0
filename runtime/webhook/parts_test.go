package webhook

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
)

func TestSecrets(t *testing.T) {
	wire, raw, err := NewSecret(rand.Reader)
	if err != nil || len(raw) != newSecretBytes || !strings.HasPrefix(wire, "whsec_") {
		t.Fatalf("%q, %v", wire, err)
	}
	if back, err := ParseSecret(wire); err != nil || !bytes.Equal(back, raw) {
		t.Errorf("%x, %v", back, err)
	}
	if _, _, err := NewSecret(strings.NewReader("short")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	encode := base64.StdEncoding.EncodeToString
	for wire, ok := range map[string]bool{
		encode(raw): true, "whsec_" + encode(make([]byte, 24)): true, encode(make([]byte, 64)): true,
		encode(make([]byte, 23)): false, encode(make([]byte, 65)): false, "": false, "whsec_": false, "whsec_whsec_" + encode(raw): false,
		strings.TrimRight(encode(raw), "="): false, encode(raw) + "\n": false, wire[:20] + "\r" + wire[20:]: false,
		base64.URLEncoding.EncodeToString(bytes.Repeat([]byte{0xff}, 33)): false,
	} {
		if _, err := ParseSecret(wire); (err == nil) != ok || err != nil && !errors.Is(err, ErrSecret) {
			t.Errorf("%q: %v", wire, err)
		}
	}
}

func TestSchedule(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	for failures, random := range map[int]io.Reader{0: rand.Reader, -1: rand.Reader, maxAttempts: rand.Reader, maxAttempts + 1: rand.Reader} {
		if again, more := next(at, failures, random); more {
			t.Errorf("after %d failures: %v", failures, again)
		}
	}
	var sum, varied time.Duration
	for n, pause := range pauses {
		for range 100 {
			again, more := next(at, n+1, rand.Reader)
			d := again.Sub(at)
			if !more || d < pause*9/10 || d >= pause*11/10 {
				t.Fatalf("after %d failures: %v", n+1, d)
			}
			varied = max(varied, (d - pause).Abs())
		}
		sum += pause
	}
	if again, _ := next(at, 1, strings.NewReader("")); again != at.Add(pauses[0]) {
		t.Errorf("without randomness: %v", again.Sub(at))
	}
	if varied == 0 || sum < 75*time.Hour {
		t.Errorf("jitter %v, %v in all", varied, sum)
	}
}

// TestLanes has more slow receivers than there is room for, and looks what is left for others.
func TestLanes(t *testing.T) {
	s := lanes{byHook: map[ledger.ID]*lane{}}
	item := func(n uint64) ledger.Delivery {
		return ledger.Delivery{Webhook: ledger.Webhook{ID: ledgertest.ID('w', n)}, LSN: 1, Event: ledger.LoggedEvent{LSN: 1}}
	}
	const slow = 2 * maxRunning
	for n := range uint64(slow) { // each fails once, a request each
		s.add(item(n))
	}
	failed := 0
	for {
		l, kind, _, ok := s.take()
		if !ok {
			break
		}
		s.done(l, kind, true)
		failed++
	}
	if failed != slow || s.queued != 0 || s.running != 0 {
		t.Fatalf("%d failed, %d queued, %d running", failed, s.queued, s.running)
	}
	for n := range uint64(slow) {
		for range 3 {
			s.add(item(n))
		}
	}
	busy := drain(&s)
	if len(busy) != maxSlow || s.slow != maxSlow {
		t.Fatalf("%d of the slow are running, %d counted", len(busy), s.slow)
	}
	for range 100 {
		s.add(item(slow))
	}
	if well := drain(&s); len(well) != perReceiver {
		t.Fatalf("%d requests to one that is well", len(well))
	}
	s.done(busy[0], slowSlot, true)
	if more := drain(&s); len(more) != 1 || more[0] == busy[0] {
		t.Errorf("%d more of the slow", len(more))
	}
	for _, l := range busy[1:] {
		s.done(l, slowSlot, true)
	}
	if more := drain(&s); len(more) != maxSlow-1 {
		t.Errorf("%d more of the slow", len(more))
	}
}

func drain(s *lanes) (taken []*lane) {
	for {
		l, _, _, ok := s.take()
		if !ok {
			return taken
		}
		taken = append(taken, l)
	}
}

// TestLanesForget has many receivers fail that never come back.
func TestLanesForget(t *testing.T) {
	s := lanes{byHook: map[ledger.ID]*lane{}}
	for n := range uint64(10 * maxIdle) {
		s.add(ledger.Delivery{Webhook: ledger.Webhook{ID: ledgertest.ID('w', n)}})
		l, kind, _, _ := s.take()
		s.done(l, kind, n%2 == 0)
		if len(s.byHook) > maxIdle+1 {
			t.Fatalf("%d receivers are remembered", len(s.byHook))
		}
	}
}

func TestReceiver(t *testing.T) {
	var out strings.Builder
	receiver, err := NewReceiver(secret, &out)
	if err != nil {
		t.Fatal(err)
	}
	post := func(method, body string, change func(http.Header)) int {
		now := time.Now()
		signer, err := standardwebhooks.NewWebhookRaw(secret)
		if err != nil {
			t.Fatal(err)
		}
		signature, err := signer.Sign("w.1", now, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		request := httptest.NewRequest(method, "/", strings.NewReader(body))
		request.Header.Set("webhook-id", "w.1")
		request.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
		request.Header.Set("webhook-signature", signature)
		change(request.Header)
		answer := httptest.NewRecorder()
		receiver.ServeHTTP(answer, request)
		return answer.Code
	}
	same := func(http.Header) {}
	const body = `{"type":"intent.denied","timestamp":"2026-11-18T12:30:00Z","data":{"value":"rm\u001b -rf /"}}`
	for _, c := range []struct {
		method, body string
		change       func(http.Header)
		status       int
		prints       string
	}{
		{"POST", body, same, 204, `verified: "intent.denied" "w.1"`},
		{"POST", body, func(h http.Header) { h.Set("webhook-id", "w.2") }, 401, "no matching signature"},
		{"POST", body, func(h http.Header) { h.Set("webhook-timestamp", "1") }, 401, "too old"},
		{"POST", body, func(h http.Header) { h.Del("webhook-signature") }, 401, "missing required headers"},
		{"POST", "no json \x1b", same, 204, `"no json \x1b"`},
		{"GET", body, same, 405, ""},
		{"POST", strings.Repeat("a", maxReceived+1), same, 400, ""},
	} {
		out.Reset()
		if status := post(c.method, c.body, c.change); status != c.status || !strings.Contains(out.String(), c.prints) || c.prints == "" && out.Len() > 0 {
			t.Errorf("%s %.40q: %d, %q", c.method, c.body, status, out.String())
		}
		if strings.Contains(out.String(), "\x1b") {
			t.Errorf("control characters are printed: %q", out.String())
		}
	}
}

// TestMessageID: an event has one id for a webhook, and where its LSN is another one than it was, one that no event had with that LSN.
func TestMessageID(t *testing.T) {
	d := ledger.Delivery{Webhook: ledger.Webhook{ID: ledger.ID{1}}, LSN: 7}
	before := messageID(&d)
	d.Renumbered = [16]byte{2, 3}
	if after := messageID(&d); before != "01000000-0000-0000-0000-000000000000.7" || after != before+".0203000000000000" {
		t.Errorf("%s, then %s", before, after)
	}
}
