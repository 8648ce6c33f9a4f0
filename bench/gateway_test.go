package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"bailiff/runtime/attest"
	"bailiff/runtime/gateway"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/memory"
	"bailiff/runtime/system"
)

// rawTransaction is a signed EIP-1559 transfer of 5 wei on chain 8453.
const rawTransaction = "02f8698221050701843b9aca0083030d409400000000000000000000000000000000000000aa0580c001a0abd625f1e0182cc0210b24f29b5ec46af8144595e7689dd3a3a68d5d2c0a0cf0a0128ec5a2d271640fcd5d14b2d51b915517f90ceaf93a09cab78e87e69a461946"

const (
	transferPolicy = "version: 2.0.0\n\n## evm\nallowed_chains: 8453\nallowed_actions: wallet.transfer\nmax_transaction_eth: 1\n"
	writeBody      = `{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x` + rawTransaction + `"]}`
	readBody       = `{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}`
	readAnswer     = `{"jsonrpc":"2.0","id":1,"result":"0x1234567"}`
)

// gatewayBodies are the stages of a write: its attestation is verified, its transaction decoded, the attestation used
// up. The whole is all but the verifying and the upstream's own time.
var gatewayBodies = []body{
	{"verify", func(tb testing.TB) func() error {
		s := newWrites(tb)
		token, err := s.signer.Issue(nil, s.claims)
		if err != nil {
			tb.Fatal(err)
		}
		text := string(token)
		return func() error { _, err := s.verifier.Verify(text, s.now); return err }
	}},
	{"decode", func(tb testing.TB) func() error {
		raw, err := hex.DecodeString(rawTransaction)
		if err != nil {
			tb.Fatal(err)
		}
		return func() error { _, err := gateway.DecodeTransaction(raw); return err }
	}},
	{"consume", func(tb testing.TB) func() error {
		s := newWrites(tb)
		return func() error {
			return s.ledger.UseOnce(context.Background(), &ledger.Use{
				Key: s.key.ID, Epoch: 1, Token: ledger.ID(s.fresh().ID), At: s.now.UnixNano(), Expires: s.now.Add(time.Minute).UnixNano(),
			})
		}
	}},
	{"whole but verify", func(tb testing.TB) func() error {
		s := newWrites(tb)
		g := s.gateway(tb, s, "")
		credential := gateway.Credential{Receipt: [][]byte{[]byte("x")}}
		return func() error {
			request, refused := g.Parse(gateway.RPC, "8453", []byte(writeBody))
			if refused != nil {
				return errors.New(refused.Message)
			}
			answer := g.Serve(context.Background(), request, credential)
			defer answer.Release()
			if !bytes.Contains(answer.Body, []byte("result")) {
				return errors.New(string(answer.Body) + answer.Message)
			}
			return nil
		}
	}},
}

// BenchmarkGateway is a write's own work by stage.
func BenchmarkGateway(b *testing.B) { run(b, gatewayBodies) }

// TestGatewayBodies runs each body a few times, so that none can rot.
func TestGatewayBodies(t *testing.T) {
	for _, one := range gatewayBodies {
		step := one.prepare(t)
		for range 3 {
			if err := step(); err != nil {
				t.Errorf("%s: %v", one.name, err)
			}
		}
	}
}

// writes is what a gateway needs for writes.
type writes struct {
	ledger   ledger.Ledger
	key      ledger.Key
	signer   *attest.Signer
	verifier *attest.Verifier
	claims   *attest.Claims
	now      time.Time
}

func newWrites(tb testing.TB) *writes {
	tb.Helper()
	s := &writes{ledger: memory.New(), now: time.Unix(1_795_000_000, 0)}
	tb.Cleanup(func() { s.ledger.Close() })
	terms, err := gateway.ParseTerms([]byte(transferPolicy))
	if err != nil {
		tb.Fatal(err)
	}
	s.key = ledger.Key{
		ID: ledger.ID{1}, Hash: [32]byte{1}, Email: "bench@localhost.localdomain", Environment: "production", Tier: "developer",
		Scopes: ledger.ScopeAuthorize, Created: s.now.UnixNano(),
	}
	if err := s.ledger.CreateKey(context.Background(), s.key); err != nil {
		tb.Fatal(err)
	}
	if s.signer, err = attest.LoadOrCreate(tb.TempDir(), rand.Reader); err != nil {
		tb.Fatal(err)
	}
	if s.verifier, err = s.signer.Verifier("svc-core"); err != nil {
		tb.Fatal(err)
	}
	raw, _ := hex.DecodeString(rawTransaction)
	sum := sha256.Sum256(raw)
	claims := *Claims()
	claims.IssuedAt, claims.ChainID, claims.KeyID, claims.PolicyHash = s.now.Unix(), 8453, s.key.ID.String(), terms.Hash
	claims.TxCommit, claims.UserOpHash, claims.Kind = hex.EncodeToString(sum[:]), "", attest.KindEVM
	claims.Intent = attest.Intent{Action: "wallet.transfer", AmountBase: "5", TargetAddress: "0x00000000000000000000000000000000000000aa"}
	s.claims = &claims
	return s
}

// fresh returns the claims under an id of their own.
func (s *writes) fresh() *attest.Claims {
	claims := *s.claims
	claims.ID, _ = attest.NewTokenID(rand.Reader)
	return &claims
}

// Verify is in for the verifier, which is measured by itself.
func (s *writes) Verify(string, time.Time) (*attest.Claims, error) { return s.fresh(), nil }

// RoundTrip is an upstream that answers at once.
func (s *writes) RoundTrip(request *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, ContentLength: int64(len(readAnswer)), Body: io.NopCloser(bytes.NewReader([]byte(readAnswer))), Request: request,
	}, nil
}

// gateway returns a gateway in front of the upstream at an address; without one writes answers itself.
func (s *writes) gateway(tb testing.TB, verifier gateway.Verifier, upstream string) *gateway.Gateway {
	tb.Helper()
	c := gateway.Config{
		Verifier: verifier, Ledger: s.ledger, BootPolicy: []byte(transferPolicy), Environment: "production",
		Upstreams: []gateway.Upstream{{Endpoint: gateway.RPC, Chain: 8453, URL: "http://127.0.0.1:1"}},
		Calls:     system.Real(func() time.Time { return s.now }), Log: slog.New(slog.DiscardHandler),
	}
	if upstream != "" {
		c.Upstreams[0].URL = "http://" + upstream
	} else {
		c.Transport = func() http.RoundTripper { return s }
	}
	g, err := gateway.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}
