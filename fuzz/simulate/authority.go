package simulate

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"bailiff/fuzz/evm"
	"bailiff/grammar"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/decision"
	"bailiff/runtime/gateway"
	"bailiff/runtime/ledger"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
	"bailiff/runtime/webhook"
)

// issuer is what attestations are issued by.
const issuer = "svc-core"

// materials are what worlds of the whole service share, since making them takes long. They depend on no seed.
type materials struct {
	signer   *attest.Signer
	verifier *attest.Verifier
	operator ed25519.PrivateKey
	public   string
	policies []string       // signed: those of the agent's key, and the wallet's
	hashes   map[string]int // of the policies
	writes   []*evm.Plan
}

// agentPolicies are how many of the materials' policies are an agent's.
const agentPolicies = 2

// limits are how many calls an hour the agent's policies allow.
var limits = [agentPolicies]int{2, 3}

// material makes the materials once.
var material = sync.OnceValues(func() (*materials, error) {
	dir, err := os.MkdirTemp("", "bailiff-simulate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	random := rand.NewChaCha8([32]byte{1})
	m := &materials{hashes: map[string]int{}}
	if m.signer, err = attest.LoadOrCreate(dir, random); err != nil {
		return nil, err
	}
	if m.verifier, err = m.signer.Verifier(issuer); err != nil {
		return nil, err
	}
	m.operator = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	m.public = attest.FormatOperatorKey(m.operator.Public().(ed25519.PublicKey))
	policy, writes, err := evm.Passing(rand.New(rand.NewPCG(1, 1)), m.signer, 3)
	if err != nil {
		return nil, err
	}
	m.writes = writes
	var texts []string
	for _, limit := range limits {
		texts = append(texts, "version: 2.0.0\n\n## tool_calls\nallowed: bash, deploy.app\nrequire_approval: deploy.*\n\n"+
			"## execution_limits\nmax_tool_calls_per_hour: "+strconv.Itoa(limit)+"\n")
	}
	for i, text := range append(texts, policy.Text) {
		m.hashes[grammar.PolicyHash([]byte(text))] = i
		signed, err := grammar.Join([]byte(text), attest.SignPolicy(m.operator, []byte(text)))
		if err != nil {
			return nil, err
		}
		m.policies = append(m.policies, string(signed))
	}
	return m, nil
})

// authorityScene is a service that decides, with webhooks and a gateway.
type authorityScene struct {
	*materials
	net       *network
	receivers []*receiver
	node      *host
	written   int // writes that reached the node
	world     *world
	answers   answers

	// Of the clients and the operator, who outlive the service.
	agents  []*agent
	tokens  []*token
	holds   []heldBy
	made    int             // requests
	issued  map[string]bool // ids of attestations
	decider *decision.Decider
	gateway *gateway.Gateway
	hooked  int // receivers that a webhook was registered for
	ready   bool
}

// An agent is an API key and who has it.
type agent struct {
	secret string
	id     string
	wallet bool
}

// A heldBy is a hold, and whose it is.
type heldBy struct {
	id    string
	agent *agent
}

// A token is an attestation that was answered.
type token struct {
	text []byte
	id   string
	plan *evm.Plan
}

func newAuthorityScene(m *materials, k *kernel) *authorityScene {
	s := &authorityScene{materials: m, net: &network{k: k, hosts: map[string]*host{}}, issued: map[string]bool{}}
	s.node = s.net.add("node.example", s.execute)
	for i := range 2 {
		r := &receiver{scene: s, took: map[string]int{}}
		r.host = s.net.add(fmt.Sprintf("hooks%d.example", i), r.take)
		s.receivers = append(s.receivers, r)
	}
	return s
}

// A receiver takes webhooks.
type receiver struct {
	scene *authorityScene
	host  *host
	mood  int            // the status of its answers, 0 for 200
	took  map[string]int // deliveries that it answered with 200, by their ids
}

func (r *receiver) take(request *http.Request, _ []byte) (int, string) {
	id := request.Header.Get("webhook-id")
	_, record, _ := strings.Cut(id, ".")
	lsn, err := strconv.ParseUint(strings.TrimSuffix(record, ".ping"), 10, 64)
	w := r.scene.world
	if err != nil || lsn > w.disk.durable {
		w.problems = fmt.Errorf("a webhook tells of record %q, and the disk has the log up to record %d", id, w.disk.durable)
	}
	if r.mood != 0 {
		return r.mood, ""
	}
	r.took[id]++
	w.reached["webhook taken"]++
	return http.StatusOK, ""
}

// execute is the node: what it is sent, it executes.
func (s *authorityScene) execute(_ *http.Request, body []byte) (int, string) {
	w := s.world
	var call struct{ Method string }
	if err := json.Unmarshal(body, &call); err == nil && call.Method == "eth_sendRawTransaction" {
		w.reached["write executed"]++
		if used := w.checked.Uses(w.disk.durable); s.written+1 > used {
			w.problems = fmt.Errorf("a write reaches the node, and the log has only %d uses of attestations for %d writes", used, s.written+1)
		}
		s.written++
	}
	return http.StatusOK, `{"jsonrpc":"2.0","id":1,"result":"0x1"}`
}

// begin starts what belongs to a life, and in the first one makes the keys.
func (s *authorityScene) begin(w *world, l *life) {
	s.world = w
	log := slog.New(slog.DiscardHandler)
	calls := s.net.calls(l, l.now)
	config := service.Config{
		Ledger: w.checked, Signer: s.signer, Environment: service.Production, Issuer: issuer, Hosted: true, Operator: [32]byte(s.operator.Public().(ed25519.PublicKey)),
		Clock: l.now, Guard: l.guard, Timers: l.timers, Random: l, Log: log,
	}
	decider, err := decision.New(decision.Config{
		Service: config, Policies: policies.Config{DeployURL: "https://api.example.com/v1/warranty/deploy"},
		Accounts: accounts.Config{CheckURL: func(context.Context, string, ledger.WebhookFormat) error { return nil }},
	})
	if err == nil {
		s.gateway, err = gateway.New(gateway.Config{
			Verifier: s.verifier, Ledger: w.checked, Environment: service.Production, Calls: calls, Log: log, Chains: []uint64{evm.ChainID},
			Upstreams: []gateway.Upstream{{Endpoint: gateway.RPC, Chain: evm.ChainID, URL: "http://node.example"}},
		})
	}
	if err != nil {
		w.problems = err
		return
	}
	s.decider = decider
	ctx, cancel := context.WithCancel(context.Background())
	dispatcher := webhook.New(webhook.Config{Ledger: delivering{w.checked, s}, AllowPrivate: true, Calls: calls, Log: log})
	stopped := make(chan struct{})
	l.goes("webhooks begin")(func() {
		defer close(stopped)
		_ = dispatcher.Run(ctx)
	})
	l.stop = func() { cancel(); <-stopped }
	s.settleIn(l)
}

// settleIn makes the first keys, deploys their policies and registers webhooks, as far as that was not done before, or the disk failed.
func (s *authorityScene) settleIn(l *life) {
	for _, wallet := range []bool{false, true, false}[min(len(s.agents), 3):] {
		a, err := s.newAgent(wallet)
		if err != nil || l.over {
			return
		}
		s.agents = append(s.agents, a)
		policy := 0
		if wallet {
			policy = agentPolicies
		}
		s.answers.during(s.world, l, a.id, operation{kind: deploy, at: s.timeOf(s.world, l, a), policy: policy}, func() string { return codeOf(s.deploy(a, policy)) })
	}
	for s.hooked < len(s.receivers) {
		if fault := s.hook(s.agents[0], s.hooked); fault != nil || l.over {
			return
		}
		s.hooked++
	}
	s.ready = true
}

func (s *authorityScene) newAgent(wallet bool) (*agent, error) {
	view, err := s.decider.Admin().CreateKey(context.Background(), accounts.NewKey{Email: "a@example.com", Plan: "enterprise", FullGrant: true})
	if err != nil {
		return nil, err
	}
	return &agent{view.APIKey, view.ID, wallet}, nil
}

// key returns an agent's key as it is now, as a request does.
func (s *authorityScene) key(a *agent) (*ledger.Key, *service.Failure) {
	return s.decider.Authenticate([]byte(a.secret), 0)
}

func (s *authorityScene) deploy(a *agent, policy int) *service.Failure {
	key, fault := s.key(a)
	if fault == nil {
		_, fault = s.decider.Deploy(context.Background(), key, object("warranty_md", s.policies[policy], "operator_public_key", s.public))
	}
	return fault
}

func (s *authorityScene) hook(a *agent, receiver int) *service.Failure {
	key, fault := s.key(a)
	if fault == nil {
		_, fault = s.decider.CreateWebhook(context.Background(), key, object("url", "http://"+s.receivers[receiver].host.name+"/", "events", ledger.AllTopics.Names()))
	}
	return fault
}

// object is the JSON object of names and values.
func object(pairs ...any) []byte {
	o := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		o[pairs[i].(string)] = pairs[i+1]
	}
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return raw
}

// delivering is the ledger as the dispatcher has it: a delivery that is settled as taken was taken, or is not wanted any more.
type delivering struct {
	ledger.Ledger
	s *authorityScene
}

// SettleDelivery implements webhook.Ledger.
func (d delivering) SettleDelivery(r ledger.DeliveryResult) error {
	w := d.s.world
	id := fmt.Sprintf("%s.%d", r.Webhook, r.LSN)
	taken := slices.ContainsFunc(d.s.receivers, func(to *receiver) bool { return to.took[id] > 0 })
	if r.Delivered && !taken && w.checked.Wanted(r.Key, r.Webhook) {
		w.problems = fmt.Errorf("delivery %s is settled as taken, and no receiver took it", id)
	}
	return d.Ledger.SettleDelivery(r)
}

// signature is the operator's, over a text.
func (s *authorityScene) signature(text []byte) string {
	return base64.RawURLEncoding.EncodeToString(attest.SignPolicy(s.operator, text))
}

var _ io.Reader = (*life)(nil)
