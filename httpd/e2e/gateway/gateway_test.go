package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	payee    = "0x00000000000000000000000000000000000000aa"
	stranger = "0x00000000000000000000000000000000000000bb"
)

// policyFor lets the wallet and the account pay, in ether and in the token.
func policyFor(token, limit string) string {
	return `version: 2.0.0

## evm
allowed_chains: 1, 8453
allowed_actions: wallet.transfer, contract.call, erc4337.userop
max_transaction_eth: ` + limit + `
token.TST.decimals: 18
token.TST.max_transaction: 10
token.TST.addresses: ` + token + `

## tool_calls
allowed: bash
`
}

// driven is what the client program says of what it did.
type driven struct {
	Sent map[string]struct{ Status, Hash, Attestation, Body string }
	// Denied is how the client saw a write that the policy denies.
	Denied   string
	Received []string // wei and base units of the token that came to the payee

	// Signed, and not sent.
	Value, Token  string
	Operation     json.RawMessage
	OperationHash string
}

// Real transactions and user operations pass, once, as what was declared; nothing else does.
func TestGateways(t *testing.T) {
	if testing.Short() {
		t.Skip("starts nodes and a bundler")
	}
	s := newStage(t)
	r := s.serve(policyFor(s.Token, "1"))
	apiKey := r.apiKey()
	d := r.drive(apiKey)

	for _, name := range []string{"value", "token", "operation"} {
		if d.Sent[name].Status != "success" {
			t.Errorf("%s: %+v", name, d.Sent[name])
		}
	}
	if want := []string{"30000000000000000", "3000000000000000000"}; !slices.Equal(d.Received, want) {
		t.Errorf("the payee received %s, want %s", d.Received, want)
	}
	if !strings.Contains(d.Denied, "SVC_POLICY_VIOLATION_AMOUNT_EXCEEDED") {
		t.Errorf("a transfer above the limit: %s", d.Denied)
	}
	for path, id := range map[string]string{"/rpc/1": "0x1", "/rpc/8453": "0x2105", "/bundler/8453": "0x2105"} {
		if answer := r.read(path, "eth_chainId"); answer != id {
			t.Errorf("%s leads to chain %v", path, answer)
		}
	}
	before := r.standing()
	t.Run("malformed", func(t *testing.T) { r.malformed(t) })
	t.Run("refused", func(t *testing.T) { r.refusals(t, apiKey, d) })
	if after := r.standing(); after != before {
		t.Errorf("something that should have been refused was mined: %s, and before %s", after, before)
	}
	t.Run("send", func(t *testing.T) { r.send(t, apiKey, d.Value) })
	t.Run("controls", func(t *testing.T) { r.controls(t, apiKey, d) })
	t.Run("restart", func(t *testing.T) { r.restart(t, d) })
}

// drive runs the client program.
func (r *service) drive(apiKey string) driven {
	r.t.Helper()
	task, err := json.Marshal(map[string]string{
		"url": r.url, "apiKey": apiKey, "key": walletKey, "token": r.Token, "smart": r.SmartAccount, "factory": r.Factory, "entryPoint": r.EntryPoint,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	command := r.script("drive.mjs")
	command.Stdin = strings.NewReader(string(task))
	output := r.must(command)
	var d driven
	if err := json.Unmarshal(output, &d); err != nil {
		r.t.Fatalf("drive.mjs: %v: %s", err, output)
	}
	return d
}

// read returns the result of a read.
func (r *service) read(path, method string, params ...any) any {
	r.t.Helper()
	_, answer := r.post(path, "", map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": append([]any{}, params...)})
	return answer["result"]
}

// standing is how many transactions of the wallet and of the account were mined on either chain, and what they and those
// whom they pay have, of the token too.
func (r *service) standing() string {
	r.t.Helper()
	var all []string
	for _, owner := range []string{r.Wallet, r.SmartAccount, payee, stranger} {
		for _, path := range []string{"/rpc/1", "/rpc/8453"} {
			for _, method := range []string{"eth_getTransactionCount", "eth_getBalance"} {
				all = append(all, fmt.Sprint(r.read(path, method, owner, "latest")))
			}
		}
		balanceOf := map[string]string{"to": r.Token, "data": "0x70a08231" + strings.Repeat("0", 24) + strings.TrimPrefix(owner, "0x")}
		all = append(all, fmt.Sprint(r.read("/rpc/8453", "eth_call", balanceOf, "latest")))
	}
	return strings.Join(all, " ")
}

// receipt waits until a write is mined.
func (r *service) receipt(t *testing.T, path, method, hash string) map[string]any {
	t.Helper()
	for range 100 {
		if receipt, ok := r.read(path, method, hash).(map[string]any); ok {
			return receipt
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("no receipt of %q came", hash)
	return nil
}

// An intent with the fields that differ from a good one's.
type intent map[string]any

// A write is something that could be submitted, and how it is declared.
type write struct {
	name     string
	endpoint string
	body     string // JSON-RPC
	altered  string // the same with one byte altered
	commit   intent // the commitment
	declared intent // that fits it
	wrong    map[string]intent
}

// writes are a value transfer, a token transfer and a user operation, each with what it could be declared as wrongly.
func (r *service) writes(d driven) []write {
	value := intent{"action": "wallet.transfer", "targetAddress": payee, "amount": "0.01", "to": payee}
	token := intent{"action": "wallet.transfer", "targetAddress": r.Token, "token": "TST", "amount": "3", "to": payee}
	operation := intent{"action": "erc4337.userop", "targetAddress": payee, "amount": "0.02"}
	with := func(good, change intent) intent {
		all := maps.Clone(good)
		maps.Copy(all, change)
		return all
	}
	data := intent{"action": "contract.call", "calldata": "0x01"}
	return []write{
		{"value", "/rpc/", raw(d.Value), raw(flip(d.Value)), commitment(d.Value), value, map[string]intent{
			"more value":        with(value, intent{"amount": "0.009"}),
			"other data":        with(value, data),
			"another recipient": with(value, intent{"targetAddress": stranger, "to": stranger}),
		}},
		{"token", "/rpc/", raw(d.Token), raw(flip(d.Token)), commitment(d.Token), token, map[string]intent{
			"more value":        with(token, intent{"amount": "2.999999999999999999"}),
			"other data":        {"action": "contract.call", "targetAddress": r.Token, "amount": "0", "calldata": "0xa9059cbb" + strings.Repeat("0", 128)},
			"another recipient": with(token, intent{"to": stranger}),
		}},
		{"operation", "/bundler/", r.operation(d, false), r.operation(d, true), intent{"userOpHash": d.OperationHash}, operation, map[string]intent{
			"more value":        with(operation, intent{"amount": "0.019"}),
			"other data":        with(operation, intent{"calldata": "0x01"}),
			"another recipient": with(operation, intent{"targetAddress": stranger}),
		}},
	}
}

// asCommit is the write's commitment as a txCommit, whatever it is.
func (w *write) asCommit() intent {
	for _, digits := range w.commit {
		return intent{"txCommit": strings.TrimPrefix(digits.(string), "0x")}
	}
	return nil
}

func commitment(raw string) intent {
	decoded, _ := hex.DecodeString(raw[2:])
	sum := sha256.Sum256(decoded)
	return intent{"txCommit": hex.EncodeToString(sum[:])}
}

func raw(transaction string) string {
	return `{"jsonrpc":"2.0","id":"a","method":"eth_sendRawTransaction","params":["` + transaction + `"]}`
}

// flip alters the last digit but one: a byte of the signature.
func flip(digits string) string {
	at := len(digits) - 2
	if digits[at] == '0' {
		return digits[:at] + "1" + digits[at+1:]
	}
	return digits[:at] + "0" + digits[at+1:]
}

// operation is the body of the prepared operation, with its call data altered where that is asked for.
func (r *service) operation(d driven, altered bool) string {
	r.t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(d.Operation, &fields); err != nil {
		r.t.Fatal(err)
	}
	if altered {
		fields["callData"] = flip(fields["callData"].(string))
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": "a", "method": "eth_sendUserOperation", "params": []any{fields, r.EntryPoint}})
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// authorize gets an attestation.
func (r *service) authorize(t *testing.T, apiKey string, commit, declared intent) string {
	t.Helper()
	body := intent{"framework": "test", "agentId": "treasury", "chainId": 8453, "intent": declared}
	maps.Copy(body, commit)
	status, answer := r.post("/v1/authorize", apiKey, body)
	token, _ := answer["intent_attestation"].(string)
	if status != 200 || token == "" {
		t.Fatalf("authorize %v: HTTP %d %v", body, status, answer)
	}
	return token
}

// reasons is what a refusal says, in part.
var reasons = map[string]string{
	"replayed":                "used before",
	"altered in a byte":       ", and the attestation is for ",
	"sent to the other chain": "for chain 8453, and this is chain 1",
	"more value":              ", and the intent declared ",
	"other data":              "not the calldata that the intent declared",
	"another recipient":       ", and the intent declared " + stranger,
	"a shell's attestation":   "of kind tool (bash)",
	"another policy":          "and the policy in force is ",
}

// violation expects the refusal of a write that does not fit its attestation, for its reason and no other.
func (r *service) violation(t *testing.T, name, how, path, token, body string) {
	t.Helper()
	var request struct{ ID any }
	if err := json.Unmarshal([]byte(body), &request); err != nil {
		t.Fatal(err)
	}
	status, answer := r.post(path, token, body)
	failure, _ := answer["error"].(map[string]any)
	data, _ := failure["data"].(map[string]any)
	reason, _ := data["reason"].(string)
	if status != 200 || answer["id"] != request.ID || failure["code"] != -32602.0 || failure["message"] != "SVC_POLICY_VIOLATION" {
		t.Errorf("%s, %s: HTTP %d %v", name, how, status, answer)
	}
	if says, known := reasons[how]; !known || !strings.Contains(reason, says) {
		t.Errorf("%s, %s: refused for %q, want %q", name, how, reason, says)
	}
}

// controls submits what was refused in so many ways: an attestation that fits is all that it lacked.
func (r *service) controls(t *testing.T, apiKey string, d driven) {
	for _, w := range r.writes(d)[1:] { // the first was sent by the command
		_, answer := r.post(w.endpoint+"8453", r.authorize(t, apiKey, w.commit, w.declared), w.body)
		hash, _ := answer["result"].(string)
		if hash == "" {
			t.Errorf("%s: %v", w.name, answer)
			continue
		}
		if w.endpoint == "/rpc/" {
			if receipt := r.receipt(t, "/rpc/8453", "eth_getTransactionReceipt", hash); receipt["status"] != "0x1" {
				t.Errorf("%s: receipt %v", w.name, receipt)
			}
		} else if receipt := r.receipt(t, "/bundler/8453", "eth_getUserOperationReceipt", hash); receipt["success"] != true {
			t.Errorf("%s: receipt %v", w.name, receipt)
		}
	}
}

// malformed is what never gets as far as a decision.
func (r *service) malformed(t *testing.T) {
	const read = `{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}`
	for _, c := range []struct {
		path, body string
		status     int
		code       string
	}{
		{"/rpc/8453", read, 200, ""},
		{"/rpc/1", read, 200, ""},
		{"/bundler/8453", read, 200, ""},
		{"/rpc/10", read, 400, "SVC_CHAIN_NOT_SUPPORTED"},
		{"/rpc/08453", read, 400, "SVC_CHAIN_NOT_SUPPORTED"},
		{"/rpc/8453", "[" + read + "]", 400, "SVC_VALIDATION_ERROR_SCHEMA"},
		{"/rpc/8453", read + read, 400, "SVC_VALIDATION_ERROR_SCHEMA"},
		{"/rpc/8453", `{"jsonrpc":"2.0","method":"eth_sendRawTransaction","params":["0x"]}`, 400, "SVC_VALIDATION_ERROR_SCHEMA"},
		{"/rpc/8453", `{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x"]}`, 401, "SVC_ATTESTATION_REQUIRED"},
		{"/rpc/8453", strings.Repeat(" ", 1<<20) + read, 413, "SVC_BODY_TOO_LARGE"},
	} {
		status, answer := r.post(c.path, "", c.body)
		if got, _ := answer["error_code"].(string); status != c.status || got != c.code {
			t.Errorf("%s with %.60s: HTTP %d %v, want %d %s", c.path, c.body, status, answer, c.status, c.code)
		}
	}
}

// refusals are all the ways in which a write does not pass.
func (r *service) refusals(t *testing.T, apiKey string, d driven) {
	writes := r.writes(d)
	late := map[string]string{}
	for _, w := range writes {
		late[w.name] = r.authorize(t, apiKey, w.commit, w.declared)
	}
	authorized := time.Now()
	deployer := r.apiKey("--scope", "authorize", "--scope", "warranty:deploy")
	replaced := map[string]string{}
	for _, w := range writes {
		path := w.endpoint + "8453"
		sent := d.Sent[w.name]
		r.violation(t, w.name, "replayed", path, sent.Attestation, sent.Body)
		r.violation(t, w.name, "altered in a byte", path, r.authorize(t, apiKey, w.commit, w.declared), w.altered)
		r.violation(t, w.name, "sent to the other chain", w.endpoint+"1", r.authorize(t, apiKey, w.commit, w.declared), w.body)
		for what, declared := range w.wrong {
			r.violation(t, w.name, what, path, r.authorize(t, apiKey, w.commit, declared), w.body)
		}
		r.violation(t, w.name, "a shell's attestation", path, r.authorize(t, apiKey, w.asCommit(), intent{"action": "bash", "command": "ls"}), w.body)
		if status, answer := r.post(path, "", w.body); status != 401 || answer["error_code"] != "SVC_ATTESTATION_REQUIRED" {
			t.Errorf("%s without an attestation: HTTP %d %v", w.name, status, answer)
		}
		if status, answer := r.post(path, apiKey, w.body); status != 401 || answer["error_code"] != "SVC_ATTESTATION_INVALID" {
			t.Errorf("%s with the API key: HTTP %d %v", w.name, status, answer)
		}
		replaced[w.name] = r.authorize(t, deployer, w.commit, w.declared)
	}
	r.write("next.md", policyFor(r.Token, "2"))
	r.bailiff("sign", "--key", r.path("operator.key"), r.path("next.md"))
	r.bailiff("deploy", "--url", r.url, "--api-key", deployer, "--key", r.path("operator.key"), r.path("next.md"))
	for _, w := range writes {
		r.violation(t, w.name, "another policy", w.endpoint+"8453", replaced[w.name], w.body)
	}
	time.Sleep(time.Until(authorized.Add(61 * time.Second)))
	for _, w := range writes {
		if status, answer := r.post(w.endpoint+"8453", late[w.name], w.body); status != 401 || answer["error_code"] != "SVC_ATTESTATION_EXPIRED" {
			t.Errorf("%s, 61 s late: HTTP %d %v", w.name, status, answer)
		}
	}
}

// send lets the command authorize and submit; a second time the node has the transaction already, and says so.
func (r *service) send(t *testing.T, apiKey, transaction string) {
	output := r.bailiff("send", "--url", r.url, "--api-key", apiKey, "--chain", "8453", "--raw", transaction)
	hash := strings.TrimSpace(string(output))
	if receipt := r.receipt(t, "/rpc/8453", "eth_getTransactionReceipt", hash); receipt["status"] != "0x1" || receipt["to"] != payee {
		t.Errorf("receipt %v", receipt)
	}
}

// restart shows that what was used stays used when the service is started again.
func (r *service) restart(t *testing.T, d driven) {
	w := r.writes(d)[0]
	apiKey := r.apiKey()
	token := r.authorize(t, apiKey, w.commit, w.declared)
	// The wallet's next nonce is another by now, so that the node refuses: the attestation is used up all the same.
	if status, answer := r.post("/rpc/8453", token, w.body); status != 200 || answer["error"] == nil {
		t.Fatalf("HTTP %d %v", status, answer)
	}
	r.again()
	status, answer := r.post("/rpc/8453", token, w.body)
	if text := fmt.Sprint(answer["error"]); status != 200 || !strings.Contains(text, "used before") {
		t.Errorf("after a restart: HTTP %d %v", status, answer)
	}
}

// again kills the service and starts it on the same data.
func (r *service) again() {
	r.t.Helper()
	r.command.Process.Kill()
	r.command.Wait()
	r.run()
}
