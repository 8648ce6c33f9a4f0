package client

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/gowebpki/jcs"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/policy"
	"bailiff/compiler"
	"bailiff/grammar"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/holds"
	"bailiff/vm"
)

type holdsCommand struct {
	List    holdsListCommand    `cmd:"" help:"List the holds that have not expired."`
	Show    holdsShowCommand    `cmd:"" help:"Show a hold with its intent."`
	Approve holdsApproveCommand `cmd:"" help:"Approve a hold, with the operator's signature."`
	Deny    holdsDenyCommand    `cmd:"" help:"Deny a hold, with the operator's signature."`
}

type holdsListCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Help says what the command works on.
func (c *holdsListCommand) Help() string {
	return "Works on the service that runs on SVC_DATA_DIR (default: data) or, where none does, on the data there."
}

// Run lists the holds of all keys.
func (c *holdsListCommand) Run(std cli.Streams) error {
	return WithAdmin(std, MustExist, func(ctx context.Context, a Admin) error {
		unresolved, err := a.AllHolds(ctx)
		if err != nil || c.JSON {
			return cli.OrPrint(std.Out, unresolved, err)
		}
		return cli.PrintTable(std.Out, "HOLD\tSTATUS\tACTION\tAGENT\tRULE\tENTRY\tCREATED\tEXPIRES", unresolved, func(h holds.Summary) string {
			return strings.Join([]string{h.HoldID, h.Status, h.Method, h.AgentID, h.PolicyRule, cmp.Or(h.Entry, "-"), h.CreatedAt.Format(time.RFC3339), h.ExpiresAt.Format(time.RFC3339)}, "\t")
		})
	})
}

// holdAnswer is what of a hold's read view these commands need.
type holdAnswer struct {
	HoldID     string          `json:"holdId"`
	Status     string          `json:"status"`
	IntentHash string          `json:"intentHash"`
	PolicyHash string          `json:"policyHash"`
	MaxFeeBase string          `json:"maxFeeBase"`
	Intent     json.RawMessage `json:"intent"`
}

// holdRoute is the route of one hold.
func holdRoute(id string) string { return "/v1/holds/" + url.PathEscape(id) }

// readHold fetches a hold, and refuses one whose intent is not the one that its hash names: what an operator reads has to
// be what the signature is for. The first result is the answer as it came.
func readHold(c *Client, id string) (raw json.RawMessage, hold holdAnswer, err error) {
	if err := c.Call(context.Background(), "GET", holdRoute(id), nil, &raw); err != nil {
		return nil, hold, err
	}
	if err := json.Unmarshal(raw, &hold); err != nil {
		return nil, hold, cli.Fail("the hold can't be read: %v", err)
	}
	canonical, err := jcs.Transform(hold.Intent)
	if err != nil {
		return nil, hold, cli.Fail("the hold's intent can't be read: %v", err)
	}
	sum := sha256.Sum256(canonical)
	if hold.HoldID != id || hex.EncodeToString(sum[:]) != hold.IntentHash {
		return nil, hold, cli.Fail("the service shows an intent that is not the one of hold %s; nothing was signed", id)
	}
	return raw, hold, nil
}

type holdsShowCommand struct {
	ApiFlags
	heldPolicy
	ID string `arg:"" help:"The hold's id."`
}

// Run prints the hold as the service has it and, on the error stream, its amounts for people.
func (c *holdsShowCommand) Run(std cli.Streams) error {
	service, err := c.Client(std)
	if err != nil {
		return err
	}
	raw, hold, err := readHold(service, c.ID)
	if err != nil {
		return err
	}
	program, err := c.program(std, hold.PolicyHash)
	if err != nil {
		return err
	}
	if err := cli.PrintJSON(std.Out, raw); err != nil {
		return err
	}
	return showAmounts(std.Err, &hold, program)
}

// heldPolicy is the operator's own copy of the policy.
type heldPolicy struct {
	Policy string `help:"File of the policy that the hold has to be under; amounts of its tokens are shown in their units." placeholder:"FILE"`
}

// resolveFlags are what approving and denying take.
type resolveFlags struct {
	ApiFlags
	heldPolicy
	Key string `required:"" help:"File of the operator's private key, which stays here." placeholder:"FILE"`
	ID  string `arg:"" help:"The hold's id."`
}

type holdsApproveCommand struct{ resolveFlags }

// Run approves the hold: the next authorize of its intent under the same policy is allowed, once.
func (c *holdsApproveCommand) Run(std cli.Streams) error { return c.resolve(std, "ALLOWED") }

type holdsDenyCommand struct{ resolveFlags }

// Run denies the hold: its intent is denied until the hold expires.
func (c *holdsDenyCommand) Run(std cli.Streams) error { return c.resolve(std, "DENIED") }

// resolution is the body that resolves a hold (decisions, section 5).
type resolution struct {
	Decision   string `json:"decision"`
	ResolvedAt int64  `json:"resolved_at"`
	Signature  string `json:"operator_signature"`
}

// resolve shows the hold, signs the decision about exactly that, and sends it.
func (c *resolveFlags) resolve(std cli.Streams, decision string) error {
	private, err := attest.ReadOperatorKey(c.Key)
	if err != nil {
		return err
	}
	service, err := c.Client(std)
	if err != nil {
		return err
	}
	_, hold, err := readHold(service, c.ID)
	if err != nil {
		return err
	}
	if hold.Status != "PENDING" {
		return cli.Fail("the hold is %s already; nothing was signed", hold.Status)
	}
	program, err := c.program(std, hold.PolicyHash)
	if err != nil {
		return err
	}
	if err := showIntent(std.Err, hold.Intent); err != nil {
		return err
	}
	if err := showAmounts(std.Err, &hold, program); err != nil {
		return err
	}
	body := signResolution(private, hold, decision, clock.System()().Unix())
	if err := service.Call(context.Background(), "POST", holdRoute(c.ID)+"/resolution", body, new(json.RawMessage)); err != nil {
		return err
	}
	fmt.Fprintf(std.Out, "%s %s\n", hold.HoldID, decision)
	return nil
}

// program returns the program of the operator's copy, nil where there is none or it does not compile any more. It refuses a
// hold that is under another policy.
func (c *heldPolicy) program(std cli.Streams, hash string) (*vm.Program, error) {
	if c.Policy == "" {
		return nil, nil
	}
	src, err := cli.ReadPolicy(std, c.Policy)
	if err != nil {
		return nil, err
	}
	body, found := grammar.Unsigned(src)
	if found.HasErrors() {
		return nil, policy.Printed(std, src, found)
	}
	if own := grammar.PolicyHash(body); own != hash {
		return nil, cli.Fail("the hold is under the policy %s, and %s is %s; nothing was signed", hash, c.Policy, own)
	}
	compiled, _ := compiler.Compile(src)
	return compiled.Program, nil
}

// showIntent prints what is decided about. Control characters are escaped in JSON, others that steer a terminal here.
func showIntent(w io.Writer, intent json.RawMessage) error {
	var text strings.Builder
	if err := cli.PrintJSON(&text, intent); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		fmt.Fprintln(w, strings.Map(cli.OneLine, strings.TrimSuffix(line, "\n")))
	}
	return nil
}

// signResolution signs a decision about a hold.
func signResolution(private ed25519.PrivateKey, hold holdAnswer, decision string, at int64) resolution {
	text := attest.ResolutionText(hold.HoldID, hold.IntentHash, hold.PolicyHash, decision, at)
	return resolution{decision, at, base64.RawURLEncoding.EncodeToString(ed25519.Sign(private, text))}
}
