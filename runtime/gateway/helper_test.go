package gateway

import (
	"context"
	"crypto/ecdsa"
	cryptorand "crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/memory"
	"bailiff/runtime/system"
)

const (
	issuer   = "svc-core"
	chain    = 8453
	policy   = "version: 2.0.0\n\n## evm\nallowed_chains: 1, 8453\nallowed_actions: wallet.transfer, contract.call, token.approve, erc4337.userop\nmax_transaction_eth: 1\ntoken.USDC.decimals: 6\ntoken.USDC.max_transaction: 250\ntoken.USDC.addresses: 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913\ntoken.FREE.decimals: 18\ntoken.FREE.max_transaction: 5\n"
	usdc     = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"
	payee    = "0x00000000000000000000000000000000000000aa"
	stranger = "0x00000000000000000000000000000000000000bb"
)

// issuedAt is when the attestations of these tests are issued.
var issuedAt = time.Unix(1_795_000_000, 0)

// testSigner and otherSigner are signers of the service and of another one.
var testSigner, otherSigner = sync.OnceValue(makeSigner), sync.OnceValue(makeSigner)

func makeSigner() *attest.Signer {
	dir, err := os.MkdirTemp("", "bailiff-gateway-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	signer, err := attest.LoadOrCreate(dir, cryptorand.Reader)
	if err != nil {
		panic(err)
	}
	return signer
}

// account is a wallet of the tests.
func account(n int64) (*ecdsa.PrivateKey, common.Address) {
	key, err := crypto.ToECDSA(common.LeftPadBytes(big.NewInt(n+1).Bytes(), 32))
	if err != nil {
		panic(err)
	}
	return key, crypto.PubkeyToAddress(key.PublicKey)
}

// sign returns the raw bytes of a transaction.
func sign(t testing.TB, data types.TxData, chainID int64) []byte {
	t.Helper()
	key, _ := account(0)
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(chainID)), data)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// dynamic returns an EIP-1559 transaction.
func dynamic(to string, value int64, data []byte) *types.DynamicFeeTx {
	target := common.HexToAddress(to)
	return &types.DynamicFeeTx{
		ChainID: big.NewInt(chain), Nonce: 7, GasTipCap: big.NewInt(1), GasFeeCap: big.NewInt(1_000_000_000), Gas: 200_000,
		To: &target, Value: big.NewInt(value), Data: data,
	}
}

// tokenData encodes a call of a token.
func tokenData(selector string, words ...any) []byte {
	data := common.FromHex(selector)
	for _, w := range words {
		switch w := w.(type) {
		case string:
			data = append(data, common.LeftPadBytes(common.FromHex(w), 32)...)
		case int64:
			data = append(data, common.LeftPadBytes(big.NewInt(w).Bytes(), 32)...)
		case int:
			data = append(data, common.LeftPadBytes(big.NewInt(int64(w)).Bytes(), 32)...)
		}
	}
	return data
}

const (
	selTransfer     = "0xa9059cbb"
	selTransferFrom = "0x23b872dd"
	selApprove      = "0x095ea7b3"
	selIncrease     = "0x39509351"
	selPush         = "0x4000aea0" // transferAndCall(address,uint256,bytes)
)

// bench is a gateway over a ledger in memory, and upstreams that count.
type bench struct {
	t       testing.TB
	gateway *Gateway
	ledger  ledger.Ledger
	key     ledger.Key
	now     atomic.Int64 // Unix seconds
	terms   *Terms
	node    *node
}

// node is an upstream that remembers what it was sent.
type node struct {
	server *httptest.Server
	mu     sync.Mutex
	bodies []string
	header http.Header
	answer atomic.Pointer[http.HandlerFunc]
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	n.mu.Lock()
	n.bodies = append(n.bodies, string(body))
	n.header = r.Header.Clone()
	n.mu.Unlock()
	if answer := n.answer.Load(); answer != nil {
		(*answer)(w, r)
		return
	}
	io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":"0x01"}`)
}

func (n *node) sent() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.bodies...)
}

func newBench(t testing.TB, adjust ...func(*Config)) *bench {
	t.Helper()
	b := &bench{t: t, ledger: memory.New(), node: new(node)}
	t.Cleanup(func() { b.ledger.Close() })
	b.node.server = httptest.NewServer(b.node)
	t.Cleanup(b.node.server.Close)
	b.now.Store(issuedAt.Unix())
	b.key = b.createKey("production")
	verifier, err := testSigner().Verifier(issuer)
	if err != nil {
		t.Fatal(err)
	}
	config := Config{
		Verifier: verifier, Ledger: b.ledger, BootPolicy: []byte(policy), Environment: "production",
		Calls: system.Real(func() time.Time { return time.Unix(b.now.Load(), 0) }), Log: slog.New(slog.DiscardHandler),
		Upstreams: []Upstream{{RPC, chain, b.node.server.URL}, {RPC, 1, b.node.server.URL}, {Bundler, chain, b.node.server.URL}},
	}
	for _, f := range adjust {
		f(&config)
	}
	if b.gateway, err = New(config); err != nil {
		t.Fatal(err)
	}
	if b.terms, err = ParseTerms([]byte(policy)); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) createKey(environment string) ledger.Key {
	b.t.Helper()
	key := ledger.Key{
		ID: ledger.ID(randomBytes(16)).UUIDv4(), Hash: [32]byte(randomBytes(32)), Email: "a@example.com", Environment: environment,
		Tier: "developer", Scopes: ledger.ScopeAuthorize, Created: issuedAt.UnixNano(),
	}
	if err := b.ledger.CreateKey(context.Background(), key); err != nil {
		b.t.Fatal(err)
	}
	return key
}

var random = struct {
	sync.Mutex
	*rand.Rand
}{Rand: rand.New(rand.NewSource(1))}

func randomBytes(n int) []byte {
	random.Lock()
	defer random.Unlock()
	raw := make([]byte, n)
	random.Read(raw)
	return raw
}

// claims are those of an intent for a raw transaction: a native transfer of value to payee, until adjusted.
func (b *bench) claims(raw []byte) *attest.Claims {
	sum := sha256.Sum256(raw)
	return &attest.Claims{
		Issuer: issuer, Subject: "agent", ID: attest.TokenID(randomBytes(16)), IssuedAt: issuedAt.Unix(),
		TxCommit: hex.EncodeToString(sum[:]), PolicyHash: b.terms.Hash, ChainID: chain, Framework: "test",
		KeyID: b.key.ID.String(), Kind: attest.KindEVM, IntentHash: strings.Repeat("0", 64),
		Intent: attest.Intent{Action: "wallet.transfer", AmountBase: "5", TargetAddress: payee},
	}
}

// opClaims are those of an intent for a user operation.
func (b *bench) opClaims(hash [32]byte) *attest.Claims {
	c := b.claims(nil)
	c.TxCommit, c.UserOpHash = "", "0x"+hex.EncodeToString(hash[:])
	c.Intent.Action = "erc4337.userop"
	return c
}

func (b *bench) token(c *attest.Claims) string {
	b.t.Helper()
	token, err := testSigner().Issue(nil, c)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(token)
}

// do sends a body to a gateway with a bearer token, none where that is empty.
func (b *bench) do(endpoint Endpoint, chain, body, token string) *Response {
	request, refused := b.gateway.Parse(endpoint, chain, []byte(body))
	if refused != nil {
		return refused
	}
	var credential Credential
	if token != "" {
		credential.Authorization = [][]byte{[]byte("Bearer " + token)}
	}
	return b.gateway.Serve(context.Background(), request, credential)
}

// send submits a raw transaction on the chain of the tests.
func (b *bench) send(raw []byte, token string) *Response {
	return b.do(RPC, fmt.Sprint(chain), rawBody(raw), token)
}

func rawBody(raw []byte) string {
	return `{"jsonrpc":"2.0","id":7,"method":"eth_sendRawTransaction","params":["0x` + hex.EncodeToString(raw) + `"]}`
}

// reason returns data.reason of a JSON-RPC error with its code and message, "" for a result, or the HTTP error.
func reason(t testing.TB, r *Response) string {
	t.Helper()
	if r.Code != "" {
		return string(r.Code) + ": " + r.Message
	}
	var body struct {
		JSONRPC string
		ID      any
		Result  any
		Error   *struct {
			Code    int
			Message string
			Data    struct{ Reason string }
		}
	}
	if err := json.Unmarshal(r.Body, &body); err != nil || body.JSONRPC != "2.0" {
		t.Fatalf("answer %s: %v", r.Body, err)
	}
	if body.Error == nil {
		return ""
	}
	return fmt.Sprintf("%d %s: %s", body.Error.Code, body.Error.Message, body.Error.Data.Reason)
}

// newServer serves a node until the test ends, and returns its address.
func newServer(t testing.TB, n *node) string {
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	return server.URL
}
