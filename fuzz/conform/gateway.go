package conform

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A node is the chain's node behind the service's gateway: it keeps what it is sent, and answers everything.
type node struct {
	server *http.Server
	mutex  sync.Mutex
	writes []string // raw transactions
	reads  int
}

// nodeResult is what the node answers.
const nodeResult = "0xc0ffee"

// startNode listens where the service looks for its node.
func startNode(address string) (*node, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("the kit can't listen as the chain's node: %w", err)
	}
	n := &node{}
	n.server = &http.Server{Handler: n, ReadHeaderTimeout: time.Minute}
	go func() { _ = n.server.Serve(listener) }() // until it is closed
	return n, nil
}

// ServeHTTP answers a JSON-RPC request.
func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		ID     json.RawMessage   `json:"id"`
		Method string            `json:"method"`
		Params []json.RawMessage `json:"params"`
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxAnswer)) // an unreadable body arrives as a read
	_ = json.Unmarshal(body, &request)
	n.mutex.Lock()
	if raw := ""; request.Method == "eth_sendRawTransaction" && len(request.Params) == 1 && json.Unmarshal(request.Params[0], &raw) == nil {
		n.writes = append(n.writes, raw)
	} else {
		n.reads++
	}
	n.mutex.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%q}`, request.ID, nodeResult)
}

// seen returns how many reads have arrived, and the writes.
func (n *node) seen() (reads int, writes string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.reads, strings.Join(n.writes, " ")
}

// gatewayPolicy allows what writes do.
const gatewayPolicy = "version: 2.4.0\n## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer, contract.call\nmax_transaction_eth: 1\n"

// A write is a signed transaction on chain 1, of each type that a gateway takes: 0.1 ETH to the address …aa. What signed them owns
// nothing.
type write struct {
	raw    string
	intent string
}

const (
	sendsNative = `{"action":"wallet.transfer","targetAddress":"0x00000000000000000000000000000000000000aa","amount":"0.1"}`
	callsDeploy = `{"action":"contract.call","targetAddress":"0x00000000000000000000000000000000000000aa","amount":"0.1","calldata":"0xd0e30db0"}`
)

var writes = []write{
	{"02f8720180843b9aca00843b9aca008252089400000000000000000000000000000000000000aa88016345785d8a000080c080a003e1493edad6ab092d5f3a61d6fee0246cfddb56af793ee73b993e82ab188f1ba04cdcb927646b188836ba5fbe64371b6df50ebdec0ae00e09e411bd60845a7405", sendsNative},
	{"01f86d0101843b9aca008252089400000000000000000000000000000000000000aa88016345785d8a000080c001a091480dc6c7d13fbda062e14a2f8023165971348592905765ea43c23060e8261fa015afb03bf2f69a2ac15a81b73a1055ec1246f3f25d001c7157314f61dcb04b5d", sendsNative},
	{"f86b02843b9aca008252089400000000000000000000000000000000000000aa88016345785d8a00008026a03321f24c16aa7cc008c24e8b972bcd557c753c549e457cfa7656770e63930199a041af6cb79ea6b8dac1e2b4e15f32d67c057211421ef39daa58cd7ecc833208ec", sendsNative},
	{"02f8760103843b9aca00843b9aca0082c3509400000000000000000000000000000000000000aa88016345785d8a000084d0e30db0c001a0a5109836c77866facd24a43deb1550ef681d14eb9313dc3d8e55dca058a23be2a0549fa27afa87bbe7fdd880f1b7e0168116348666defdb221ab4a03a30d582e22", callsDeploy},
}

// noUpstream says why the level is not run.
const noUpstream = "the kit was not told where to listen as the chain's node (--upstream)"

// gateway runs the level Gateway.
func (k *Kit) gateway(ctx context.Context) error {
	if k.config.Upstream == "" {
		k.skip(Gateway, noUpstream, 1)
		return nil
	}
	n, err := startNode(k.config.Upstream)
	if err != nil {
		return err
	}
	defer func() { _ = n.server.Close() }()
	s, err := k.nextSession(ctx)
	if err != nil {
		return err
	}
	found, err := s.deployText(ctx, k.unique(k.config.Seed)+gatewayPolicy, false)
	cases := 0
	if found == nil && err == nil {
		cases, found, err = (&gate{s, n}).run(ctx)
	}
	k.count(Gateway, cases)
	if found != nil {
		k.mutex.Lock()
		k.found = true
		k.report.add(Gateway, k.config.Seed, found, "", script(k.config.URL, found.steps))
		k.mutex.Unlock()
	} else if err == nil {
		k.keep(s)
	}
	return err
}

// A gate is a gateway with a node behind it.
type gate struct {
	*session
	node *node
}

// A knock is a request to a gateway, with the expected answer.
type knock struct {
	method  string
	params  string
	token   string
	status  int
	code    string // error_code of a 401; error.message of a JSON-RPC error
	passes  bool
	explain string
}

func (g *gate) run(ctx context.Context) (cases int, found *finding, err error) {
	knocks := []knock{
		{"eth_blockNumber", "[]", "", 200, "", true, "a read without an attestation"},
		{"eth_sign", "[]", "", 200, "SVC_RPC_METHOD_NOT_ALLOWED", false, "a method that no list has"},
		{"eth_sendRawTransaction", quoted(writes[0].raw), "", 401, "SVC_ATTESTATION_REQUIRED", false, "a write without an attestation"},
		{"eth_sendRawTransaction", quoted(writes[0].raw), "a.b.c", 401, "SVC_ATTESTATION_INVALID", false, "a write with an attestation that is none"},
	}
	for i, w := range writes {
		token, found, err := g.attest(ctx, w, i)
		if found != nil || err != nil {
			return cases, found, err
		}
		other := writes[(i+1)%len(writes)]
		at := len(token) - 20
		broken := token[:at] + map[bool]string{true: "B", false: "A"}[token[at] == 'A'] + token[at+1:]
		knocks = append(knocks,
			knock{"eth_sendRawTransaction", quoted(w.raw), broken, 401, "SVC_ATTESTATION_INVALID", false, "a write with a signature that is wrong"},
			knock{"eth_sendRawTransaction", quoted(other.raw), token, 200, "SVC_POLICY_VIOLATION", false, "another write than the one that is attested"},
			knock{"eth_sendRawTransaction", quoted(w.raw[:len(w.raw)-2] + "00"), token, 200, "SVC_POLICY_VIOLATION", false, "the write with a byte changed"},
			knock{"eth_sendRawTransaction", quoted(w.raw), token, 200, "", true, "the write that is attested, after what did not fit"},
			knock{"eth_sendRawTransaction", quoted(w.raw), token, 0, "*", false, "the write again"},
		)
	}
	for _, one := range knocks {
		cases++
		if found, err := g.knock(ctx, one); found != nil || err != nil {
			return cases, found, err
		}
	}
	found, err = g.afterDeployment(ctx)
	return cases + 1, found, err
}

// afterDeployment holds that an attestation under a policy that was replaced is void.
func (g *gate) afterDeployment(ctx context.Context) (*finding, error) {
	token, found, err := g.attest(ctx, writes[0], len(writes))
	if found != nil || err != nil {
		return found, err
	}
	if found, err := g.deployText(ctx, g.kit.unique(g.kit.config.Seed)+gatewayPolicy, false); found != nil || err != nil {
		return found, err
	}
	return g.knock(ctx, knock{"eth_sendRawTransaction", quoted(writes[0].raw), token, 0, "*", false, "a write under a policy that was replaced"})
}

func quoted(raw string) string { return `["0x` + raw + `"]` }

// attest has a write authorized.
func (g *gate) attest(ctx context.Context, w write, number int) (token string, found *finding, err error) {
	raw, err := hex.DecodeString(w.raw)
	if err != nil {
		return "", nil, err
	}
	body := fmt.Appendf(nil, `{"framework":"conform","agentId":"agent-%d","chainId":1,"txCommit":"%x","intent":%s}`, number, sha256.Sum256(raw), w.intent)
	a, found, err := g.ask(ctx, body, false, false, map[string]int{})
	if found != nil || err != nil {
		return "", found, err
	}
	if a.token == "" {
		return "", nil, errors.New("the policy of the level Gateway does not allow its writes")
	}
	return a.token, nil, nil
}

// knock sends one request, and holds its answer, and whether it arrives at the node.
func (g *gate) knock(ctx context.Context, k knock) (*finding, error) {
	readsBefore, writesBefore := g.node.seen()
	step := post("/rpc/1", "", "", fmt.Appendf(nil, `{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, k.method, k.params))
	if k.token != "" {
		step.header = map[string]string{"Svc-Receipt": k.token}
	}
	g.story = append(g.story, step)
	answer, err := g.kit.wire.send(ctx, step)
	if err != nil {
		return nil, err
	}
	m := parse(answer.body)
	code := m.text("error_code")
	if rpc := m.object("error"); rpc != nil {
		code = rpc.text("message")
	}
	reads, sent := g.node.seen()
	arrived := reads > readsBefore || sent != writesBefore
	wrong := same(k.explain+": arrives at the node", k.passes, arrived)
	switch {
	case wrong.any():
	case k.passes:
		wrong = differ(same(k.explain+": HTTP status", 200, answer.status), same(k.explain+": result", nodeResult, m.text("result")), same(k.explain+": id", int64(7), m.number("id")))
		if arrivedLast := sent[len(writesBefore):]; !wrong.any() && k.method == "eth_sendRawTransaction" {
			wrong = same(k.explain+": bytes that arrive", strings.Trim(k.params, `[]"`), strings.TrimSpace(arrivedLast))
		}
	case k.code == "*": // refused, in either form
		if answer.status < 400 && m.object("error") == nil {
			wrong = difference{k.explain, "a refusal", shorten(string(answer.body))}
		}
	default:
		wrong = differ(same(k.explain+": HTTP status", k.status, answer.status), same(k.explain+": code", k.code, code))
	}
	if wrong.any() {
		wrong.got += "; " + shorten(string(answer.body))
		return g.found(wrong), nil
	}
	return nil, nil
}
