package verify

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"bailiff/httpd/client"
	"bailiff/runtime/attest"
)

// file is docs/vectors/attestations.json.
type file struct {
	Issuer  string
	JWKS    json.RawMessage
	PQCKeys json.RawMessage
	Vectors []struct {
		Name, Token, Result string
		Now                 int64
		Expect              *struct {
			TxCommit, UserOpHash, PolicyHash string
			ChainID                          uint64
			RefuseObserve                    bool
		}
	}
}

// keySets serves the key sets of the vectors, or fails.
type keySets struct {
	file
	fails bool
	asked int
}

func (k *keySets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.asked++
	set := k.JWKS
	if strings.HasSuffix(r.URL.Path, "svc-pqc-keys.json") {
		set = k.PQCKeys
	}
	if k.fails || r.Header.Get("Authorization") != "" {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write(set)
}

// start returns the keys of a service that has those of the vectors.
func start(t *testing.T) (*keySets, *Keys) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/vectors/attestations.json")
	if err != nil {
		t.Fatal(err)
	}
	sets := new(keySets)
	if err := json.Unmarshal(text, &sets.file); err != nil || len(sets.Vectors) == 0 {
		t.Fatal(err, len(sets.Vectors))
	}
	server := httptest.NewServer(sets)
	t.Cleanup(server.Close)
	service, err := client.New(client.Config{URL: server.URL, Key: "sk_svc_x"})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := New(service, sets.Issuer)
	if err != nil {
		t.Fatal(err)
	}
	return sets, keys
}

// expected is what a vector expects; an attack expects what the attestation would say without it.
func (f *file) expected(i int) Expected {
	e := f.Vectors[i].Expect
	if e == nil {
		e = f.Vectors[0].Expect
	}
	return Expected{TxCommit: e.TxCommit, UserOpHash: e.UserOpHash, PolicyHash: []string{e.PolicyHash}, ChainID: e.ChainID, RefuseObserve: e.RefuseObserve}
}

func TestVectors(t *testing.T) {
	sets, keys := start(t)
	found := map[string]bool{}
	for i, vector := range sets.Vectors {
		claims, err := keys.Verify(t.Context(), vector.Token, sets.expected(i), time.Unix(vector.Now, 0))
		if got := Reason(err); got != vector.Result || (claims == nil) != (err != nil) {
			t.Errorf("%s: %s (%v), want %s", vector.Name, got, err, vector.Result)
		}
		found[vector.Result] = true
	}
	for _, needed := range []string{"ok", "commitment", "policy", "chain", "observe", "pqc", "signature"} {
		if !found[needed] {
			t.Errorf("no vector shows %s", needed)
		}
	}
}

func TestIncomplete(t *testing.T) {
	sets, keys := start(t)
	good := sets.Vectors[0]
	for _, change := range []func(*Expected){
		func(e *Expected) { e.TxCommit = "" },
		func(e *Expected) { e.UserOpHash = "0x" },
		func(e *Expected) { e.PolicyHash = nil },
	} {
		want := sets.expected(0)
		change(&want)
		if _, err := keys.Verify(t.Context(), good.Token, want, time.Unix(good.Now, 0)); !errors.Is(err, ErrExpected) {
			t.Errorf("%+v: %v", want, err)
		}
	}
	want := sets.expected(0)
	want.PolicyHash, want.AnyPolicy = nil, true
	if _, err := keys.Verify(t.Context(), good.Token, want, time.Unix(good.Now, 0)); err != nil {
		t.Error(err)
	}
}

// TestCache holds for how long key sets are used: fresh ones without asking, older ones while the service is away, and none
// for longer than Stale.
func TestCache(t *testing.T) {
	sets, keys := start(t)
	begin := time.Unix(1_000_000, 0)
	get := func(after time.Duration) error {
		_, err := keys.verifier(t.Context(), begin.Add(after), false)
		return err
	}
	sets.fails = true
	if err := get(0); !errors.Is(err, ErrKeys) || sets.asked != 1 {
		t.Fatalf("without any keys: %v after %d", err, sets.asked)
	}
	if err := get(Pause - 1); !errors.Is(err, ErrKeys) || sets.asked != 1 {
		t.Fatalf("a moment later: %v after %d", err, sets.asked)
	}
	sets.fails = false
	begin = begin.Add(Pause)
	for _, step := range []struct {
		after time.Duration
		fails bool
		asked int
		keys  bool
	}{
		{0, false, 3, true},
		{Fresh - 1, false, 3, true},
		{Fresh, false, 5, true}, // fetched again
		{2 * Fresh, true, 6, true},
		{2*Fresh + Pause - 1, true, 6, true},
		{Fresh + Stale - 1, true, 7, true},
		{Fresh + Stale, true, 7, false},
		{Fresh + Stale + Pause, true, 8, false},
		{Fresh + Stale + 2*Pause, false, 10, true},
		{0, false, 12, true}, // the clock was set back
	} {
		sets.fails = step.fails
		if err := get(step.after); (err == nil) != step.keys || sets.asked != step.asked {
			t.Errorf("after %v: %v, asked %d times, want %d", step.after, err, sets.asked, step.asked)
		}
	}
}

// TestRotation holds that a new key is found at once, and that unknown ones cause no flood.
func TestRotation(t *testing.T) {
	sets, keys := start(t)
	good := sets.Vectors[0]
	now := time.Unix(good.Now, 0)
	known := sets.JWKS
	sets.JWKS = json.RawMessage(strings.NewReplacer(keyID(t, known), "x").Replace(string(known)))
	if _, err := keys.Verify(t.Context(), good.Token, sets.expected(0), now); !errors.Is(err, ErrKeys) {
		t.Fatalf("a set whose kid is not the thumbprint: %v", err)
	}
	other := otherKeys(t)
	sets.JWKS = other
	later := now.Add(Pause)
	if _, err := keys.Verify(t.Context(), good.Token, sets.expected(0), later); !errors.Is(err, attest.ErrUnknownKey) {
		t.Fatalf("by another key: %v", err)
	}
	sets.JWKS = known
	asked := sets.asked
	for range 3 {
		if _, err := keys.Verify(t.Context(), good.Token, sets.expected(0), later); !errors.Is(err, attest.ErrUnknownKey) || sets.asked != asked {
			t.Fatalf("unknown keys cause a flood: %v, asked %d times", err, sets.asked-asked)
		}
	}
	if _, err := keys.Verify(t.Context(), good.Token, sets.expected(0), later.Add(Pause)); err != nil {
		t.Errorf("the new key was not found: %v", err)
	}
}

// keyID is the kid of the first key.
func keyID(t *testing.T, set json.RawMessage) string {
	t.Helper()
	var document struct{ Keys []struct{ KID string } }
	if err := json.Unmarshal(set, &document); err != nil || len(document.Keys) == 0 {
		t.Fatal(err)
	}
	return document.Keys[0].KID
}

// otherKeys is a key set of RFC 8037, appendix A.
func otherKeys(t *testing.T) json.RawMessage {
	t.Helper()
	return json.RawMessage(`{"keys":[{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","use":"sig",` +
		`"kid":"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`)
}

func TestOnce(t *testing.T) {
	var once Once
	now := time.Unix(1_000_000, 0)
	claims := &attest.Claims{ID: attest.TokenID{1}, IssuedAt: now.Unix()}
	if err := once.Use(claims, now); err != nil {
		t.Fatal(err)
	}
	for _, later := range []time.Duration{0, 59 * time.Second, -30 * time.Second} {
		if err := once.Use(claims, now.Add(later)); !errors.Is(err, ErrUsed) {
			t.Errorf("%v later: %v", later, err)
		}
	}
	if err := once.Use(claims, now.Add(time.Minute)); !errors.Is(err, attest.ErrExpired) {
		t.Errorf("a minute later: %v", err)
	}
	later := now.Add(3 * time.Minute)
	if err := once.Use(&attest.Claims{ID: attest.TokenID{2}, IssuedAt: later.Unix()}, later); err != nil || len(once.used) != 1 {
		t.Errorf("%v, %d remembered", err, len(once.used))
	}
	for i := range maxRemembered {
		once.used[attest.TokenID{3, byte(i), byte(i >> 8), byte(i >> 16)}] = later.Unix() + 60
	}
	if err := once.Use(&attest.Claims{ID: attest.TokenID{4}, IssuedAt: later.Unix()}, later); !errors.Is(err, ErrCrowded) {
		t.Errorf("without room: %v", err)
	}
}
