package serve

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/client"
	"bailiff/cmd/bailiff/policy"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/grammar"
	"bailiff/runtime/accounts"
	"bailiff/runtime/atomicfile"
	"bailiff/runtime/attest"
	"bailiff/runtime/hook/setup"
)

// quickstartEmail is the account of the API key that a first run makes.
const quickstartEmail = "operator@localhost.localdomain"

// maxChainAnswer bounds, in bytes, what is read of a node's answer about its chain.
const maxChainAnswer = 64 << 10

type quickstartCommand struct {
	For         string `default:"trader" enum:"${starters}" help:"Whom the example policy is for, as bailiff init has it: ${enum} (${default})." placeholder:"AGENT"`
	OperatorKey string `default:"config/operator.key" help:"File of the operator's private key; made if missing (${default})." placeholder:"FILE"`
	RPCURL      string `name:"rpc-url" help:"JSON-RPC address of a node, which is asked for its chain: sets SVC_RPC_URL_<chainId>." placeholder:"URL"`
}

// Help says what is made where.
func (c *quickstartCommand) Help() string {
	return `Makes, each where there is none: an operator key, a signed example policy (WARRANTY_PATH), and an API key
(in SVC_DATA_DIR/api-key, mode 0600). Then it serves like "bailiff serve" and prints what to try. For trying
out: in earnest the operator's private key belongs on no machine that runs the service.`
}

// Run makes what is missing and serves.
func (c *quickstartCommand) Run(std cli.Streams) error {
	RelaxTimers()
	l, err := newLaunch(std, func() (*cmdsettings.Settings, error) { return cmdsettings.Load(os.Environ()) })
	if err != nil {
		return err
	}
	s := l.settings
	if err := s.WithoutStore("quickstart"); err != nil {
		return startup("%v", err)
	}
	if s.Hosted {
		return startup("quickstart sets up a self-hosted service; SVC_HOSTED is set, so use bailiff serve")
	}
	if err := c.connect(std, s); err != nil {
		return err
	}
	if err := c.prepare(std, s); err != nil {
		return err
	}
	l.again = func() (*cmdsettings.Settings, error) {
		again, err := cmdsettings.Load(os.Environ())
		if err == nil { // these come from elsewhere
			again.OperatorKey, again.RPCURLs = s.OperatorKey, s.RPCURLs
		}
		return again, err
	}
	return serve(l, func(running *service) error {
		if err := keepAPIKey(running); err != nil {
			return err
		}
		fmt.Fprint(std.Out, c.next(running.settings, running.scheme()+running.address))
		return nil
	})
}

// connect sets the node of --rpc-url as the upstream of its chain. Errors leave the address out: it may hold an account's key.
func (c *quickstartCommand) connect(std cli.Streams, s *cmdsettings.Settings) error {
	if c.RPCURL == "" {
		return nil
	}
	var node cmdsettings.Upstream
	if err := node.UnmarshalText([]byte(c.RPCURL)); err != nil {
		return cli.Usage("--rpc-url is not good; %v", err)
	}
	chain, err := chainOf(c.RPCURL)
	if err != nil {
		return cli.Fail("the node of --rpc-url did not tell its chain: %v; give the JSON-RPC address of a node that runs", err)
	}
	if !slices.Contains(s.RPCChains, chain) {
		return cli.Fail("the node of --rpc-url is of chain %d, and SVC_RPC_CHAINS is %s; give a node of one of these, or set SVC_RPC_CHAINS", chain, s.RPCChains)
	}
	if s.RPCURLs == nil {
		s.RPCURLs = map[uint64]cmdsettings.Upstream{}
	}
	s.RPCURLs[chain] = node
	fmt.Fprintf(std.Out, "/rpc/%d leads to the node of --rpc-url\n", chain)
	return nil
}

// chainOf asks a node for the id of its chain.
func chainOf(node string) (uint64, error) {
	asking := http.Client{Timeout: client.ClientTimeout}
	response, err := asking.Post(node, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}`))
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	var answer struct{ Result string }
	text, err := io.ReadAll(io.LimitReader(response.Body, maxChainAnswer))
	if err != nil {
		return 0, err
	}
	_ = json.Unmarshal(text, &answer) // what is not JSON has no result
	chain, err := strconv.ParseUint(strings.TrimPrefix(answer.Result, "0x"), 16, 64)
	if err != nil {
		return 0, fmt.Errorf("it answered eth_chainId with HTTP %d, and not with a chain", response.StatusCode)
	}
	return chain, nil
}

// prepare makes operator key and policy where there are none, and sets the operator's public key.
func (c *quickstartCommand) prepare(std cli.Streams, s *cmdsettings.Settings) error {
	if err := os.MkdirAll(filepath.Dir(c.OperatorKey), 0o700); err != nil {
		return cli.Fail("the folder of the operator key can't be made: %v; --operator-key names it", err)
	}
	if _, err := os.Stat(c.OperatorKey); errors.Is(err, fs.ErrNotExist) {
		if _, err := policy.MakeOperatorKey(c.OperatorKey); err != nil {
			return err
		}
		fmt.Fprintln(std.Out, "made an operator key:", c.OperatorKey)
	}
	private, err := attest.ReadOperatorKey(c.OperatorKey)
	if err != nil {
		return err
	}
	s.OperatorKey = attest.FormatOperatorKey(private.Public().(ed25519.PublicKey))
	path := s.WarrantyPath
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // one that can't be used says so when it is loaded
	}
	example, _, err := policy.StarterOf(c.For)
	if err != nil {
		return err
	}
	signed, _, err := policy.SignPolicy(std, grammar.NewSource(path, example), private, false)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := cli.ReplaceFile(path, signed); err != nil {
		return err
	}
	fmt.Fprintln(std.Out, "made and signed an example policy:", path)
	return nil
}

// keepAPIKey keeps the API key of an earlier run while it is good, and makes one otherwise.
func keepAPIKey(running *service) error {
	path := running.settings.APIKeyPath()
	text, err := os.ReadFile(path)
	if err == nil && running.admin.Good(strings.TrimSpace(string(text))) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := running.admin.CreateKey(context.Background(), accounts.NewKey{Email: quickstartEmail})
	if err != nil {
		return err
	}
	return cli.Unwritable(path, atomicfile.ReplacePrivate(path, []byte(key.APIKey+"\n")))
}

// tries are the intents to paste: what the example policy allows, and what it denies.
const tries = `
%[1]s serves the policy %[2]s.

ALLOWED, with an attestation:

  curl -s %[1]s/v1/authorize -H "Authorization: Bearer $(cat %[3]s)" -d '{
    "framework": "custom", "agentId": "trader-1", "chainId": 8453,
    "txCommit": "b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c",
    "intent": {"action": "wallet.transfer", "targetAddress": "0x00000000000000000000000000000000000000aa", "amount": "0.1", "maxFee": "0.001", "metadata": {"desk": "desk-1"}}}'

%[4]s:

  curl -s %[1]s/v1/authorize -H "Authorization: Bearer $(cat %[3]s)" -d '{
    "framework": "custom", "agentId": "trader-1",
    "txCommit": "7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730",
    "intent": {"action": "bash", "command": "rm -rf /", "task_id": "task-1"}}'

The keys that verify attestations:

  curl -s %[1]s/.well-known/jwks.json
  curl -s %[1]s/v1/pqc-keys

`

// next is what to paste: an agent's hook, or the first intents.
func (c *quickstartCommand) next(s *cmdsettings.Settings, address string) string {
	if setup.Find(c.For) == nil {
		return triesFor(s, address)
	}
	return fmt.Sprintf(guards, address, s.WarrantyPath, c.For, cli.ShellWord(s.APIKeyPath()))
}

// guards is how a coding agent is put behind the service.
const guards = `
%[1]s serves the policy %[2]s.

Have %[3]s ask before each tool call, from another terminal in this folder:

  bailiff hook install %[3]s --url %[1]s --api-key-file %[4]s
  bailiff hook status

`

// triesFor is what to paste. The API key itself stays in its file: terminals are recorded.
func triesFor(s *cmdsettings.Settings, address string) string {
	denied := "DENIED, by tool_calls.bash.blocked_commands"
	if s.Observe() {
		denied = "What tool_calls.bash.blocked_commands denies, and OBSERVE mode lets pass"
	}
	return fmt.Sprintf(tries, address, s.WarrantyPath, cli.ShellWord(s.APIKeyPath()), denied)
}
