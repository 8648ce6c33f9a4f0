package conform_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"log/slog"
	"net"
	"testing"
	"time"

	"bailiff/fuzz/conform"
	"bailiff/grammar"
	"bailiff/httpd"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/decision"
	"bailiff/runtime/gateway"
	"bailiff/runtime/ledger/memory"
	"bailiff/runtime/policies"
	"bailiff/runtime/ratelimit"
	"bailiff/runtime/service"
	"bailiff/runtime/shims"
	"bailiff/runtime/system"
)

// A world is a service in this process, as its operator has it.
type world struct {
	url   string
	keys  conform.KeySource
	shim  *conform.Shim
	owner ed25519.PrivateKey
	nodes string // where the gateway's upstream is to listen
}

// mostLimited is how many keys and sources have a rate limit of their own.
const mostLimited = 1000

// serveHere starts a service on a port of its own, until the test ends.
func serveHere(t *testing.T) *world {
	t.Helper()
	return serveFor(t, newKey(t), newKey(t))
}

// serveFor is serveHere for an operator and a trusted shim.
func serveFor(t *testing.T, owner, shim ed25519.PrivateKey) *world {
	t.Helper()
	return serveWith(t, owner, shim, httpd.Limits{})
}

// serveWith is serveFor with rate limits.
func serveWith(t *testing.T, owner, shim ed25519.PrivateKey, limits httpd.Limits) *world {
	t.Helper()
	listener := listen(t)
	w := &world{url: "http://" + listener.Addr().String(), nodes: freePort(t), shim: conform.NewShim(shim), owner: owner}
	trusted, err := shims.Parse(w.shim.Trust())
	must(t, err)
	loaded, err := policies.CompilePolicy(grammar.NewSource("warranty.md", []byte("version: 2.4.0\n## tool_calls\nallowed: nothing\n")))
	must(t, err)
	signer, err := attest.LoadOrCreate(t.TempDir(), rand.Reader)
	must(t, err)
	store := memory.New()
	t.Cleanup(func() { store.Close() })
	quiet := slog.New(slog.DiscardHandler)
	common := service.Config{
		Ledger: store, Signer: signer, Environment: service.Production, Issuer: "svc-core", Clock: time.Now, Random: rand.Reader, Log: quiet,
		Operator: [32]byte(w.owner.Public().(ed25519.PublicKey)),
	}
	decider, err := decision.New(decision.Config{Service: common, Policies: policies.Config{
		Default: loaded, RefuseRollback: true, Shims: trusted, DeployURL: w.url + "/v1/warranty/deploy",
	}})
	must(t, err)
	verifier, err := signer.Verifier("svc-core")
	must(t, err)
	gates, err := gateway.New(gateway.Config{
		Verifier: verifier, Ledger: store, Environment: service.Production, Calls: system.Real(time.Now), Log: quiet,
		Upstreams: []gateway.Upstream{{Endpoint: gateway.RPC, Chain: 1, URL: "http://" + w.nodes}},
	})
	must(t, err)
	server, err := httpd.New(httpd.Config{
		Authority: decider, Log: quiet, Clock: time.Now, Random: rand.Reader, PublicURL: w.url, Gateway: gates, Limits: limits,
		Stores: httpd.Stores{Keys: ratelimit.NewMemory(mostLimited), Sources: ratelimit.NewMemory(mostLimited)},
	})
	must(t, err)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
	admin := decision.NewAdmin(common)
	w.keys = func(ctx context.Context, shim bool) (string, error) {
		view, err := admin.CreateKey(ctx, accounts.NewKey{Email: "conform@localhost.localdomain", Shim: shim, Scopes: []string{"authorize", "warranty:deploy"}})
		return view.APIKey, err
	}
	return w
}

func newKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	return private
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	return listener
}

// freePort returns an address on which nothing listens.
func freePort(t *testing.T) string {
	t.Helper()
	listener := listen(t)
	defer listener.Close()
	return listener.Addr().String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// config is how the tests run the kit against the world.
func (w *world) config(seed int64, cases int, levels ...conform.Level) conform.Config {
	return conform.Config{URL: w.url, Seed: seed, Cases: cases, Levels: levels, Workers: 4, Keys: w.keys, Shim: w.shim, Operator: w.owner}
}
