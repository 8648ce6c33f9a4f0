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
	KeyID      string          `json:"keyId"` // only by the admin socket, as others and waiting
	Status     string          `json:"status"`
	AgentID    string          `json:"agentId"`
	PolicyRule string          `json:"policyRule"`
	Entry      string          `json:"entry"`
	IntentHash string          `json:"intentHash"`
	PolicyHash string          `json:"policyHash"`
	ExpiresAt  int64           `json:"expiresAt"`
	MaxFeeBase string          `json:"maxFeeBase"`
	Intent     json.RawMessage `json:"intent"`
	Others     int             `json:"others"`
	Waiting    int             `json:"waiting"`
	Line       int             `json:"line"`
	Summary    string          `json:"summary"`
}

// holdRoute is the route of one hold.
func holdRoute(id string) string { return "/v1/holds/" + url.PathEscape(id) }

// A holdDesk reads and resolves holds: over the API, for the holder of the API key, or by the admin socket.
type holdDesk interface {
	read(ctx context.Context, id string) (json.RawMessage, error)
	resolve(ctx context.Context, hold *holdAnswer, body resolution) error
}

// apiDesk is the API, which takes whole ids.
type apiDesk struct{ *Client }

func (d apiDesk) read(ctx context.Context, id string) (raw json.RawMessage, err error) {
	err = d.Call(ctx, "GET", holdRoute(id), nil, &raw)
	return raw, err
}

func (d apiDesk) resolve(ctx context.Context, hold *holdAnswer, body resolution) error {
	return d.Call(ctx, "POST", holdRoute(hold.HoldID)+"/resolution", body, new(json.RawMessage))
}

// adminDesk is the admin socket, or the data itself.
type adminDesk struct{ Admin }

func (d adminDesk) read(ctx context.Context, id string) (json.RawMessage, error) {
	view, err := d.FindHold(ctx, id)
	if err != nil {
		return nil, err
	}
	return json.Marshal(view)
}

func (d adminDesk) resolve(ctx context.Context, hold *holdAnswer, body resolution) error {
	encoded, err := json.Marshal(body)
	if err == nil {
		_, err = d.Resolve(ctx, hold.KeyID, hold.HoldID, encoded)
	}
	return err
}

// withDesk calls use with the API where an API key is given, and else with the service that runs on the data folder.
func (f *ApiFlags) withDesk(std cli.Streams, use func(context.Context, holdDesk) error) error {
	if !f.Given() {
		return WithAdmin(std, Changes, func(ctx context.Context, a Admin) error { return use(ctx, adminDesk{a}) })
	}
	service, err := f.Client(std)
	if err != nil {
		return err
	}
	return use(context.Background(), apiDesk{service})
}

// readHold fetches a hold, and refuses one whose intent is not the one that its hash names: what an operator reads has to
// be what the signature is for. The first result is the answer as it came.
func readHold(ctx context.Context, desk holdDesk, id string) (raw json.RawMessage, hold holdAnswer, err error) {
	if raw, err = desk.read(ctx, id); err != nil {
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
	if !strings.HasPrefix(hold.HoldID, strings.ToLower(id)) || hex.EncodeToString(sum[:]) != hold.IntentHash {
		return nil, hold, cli.Fail("the service shows an intent that is not the one of hold %s; nothing was signed", id)
	}
	return raw, hold, nil
}

const holdsHelp = `Without an API key the command works on the service that runs on SVC_DATA_DIR (default: data), and takes the beginning of an
id, four characters at least. With one it asks the service at --url, and takes whole ids.`

type holdsShowCommand struct {
	ApiFlags
	heldPolicy
	ID string `arg:"" help:"The hold's id, or its beginning."`
}

// Help says whom the command asks.
func (c *holdsShowCommand) Help() string { return holdsHelp }

// Run prints the hold as the service has it and, on the error stream, its amounts for people.
func (c *holdsShowCommand) Run(std cli.Streams) error {
	return c.withDesk(std, func(ctx context.Context, desk holdDesk) error {
		raw, hold, err := readHold(ctx, desk, c.ID)
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
	})
}

// heldPolicy is the operator's own copy of the policy.
type heldPolicy struct {
	Policy string `help:"File of the policy that the hold has to be under; amounts of its tokens are shown in their units." placeholder:"FILE"`
}

// resolveFlags are what approving and denying take.
type resolveFlags struct {
	ApiFlags
	heldPolicy
	Key  string `required:"" help:"File of the operator's private key, which stays here." placeholder:"FILE"`
	Yes  bool   `help:"Do not ask."`
	Note string `help:"What the agent is told with the decision; at most 512 bytes, and not signed." placeholder:"TEXT"`
	ID   string `arg:"" help:"The hold's id, or its beginning."`
}

// Help says what is signed.
func (c *resolveFlags) Help() string {
	return "Shows the intent, asks, and signs a decision about exactly that intent.\n\n" + holdsHelp
}

type holdsApproveCommand struct{ resolveFlags }

// Run approves the hold: the next authorize of its intent under the same policy is allowed, once.
func (c *holdsApproveCommand) Run(std cli.Streams) error {
	return c.resolve(std, "ALLOWED", "Approve this?")
}

type holdsDenyCommand struct{ resolveFlags }

// Run denies the hold: its intent is denied until the hold expires.
func (c *holdsDenyCommand) Run(std cli.Streams) error { return c.resolve(std, "DENIED", "Deny this?") }

// resolution is the body that resolves a hold (decisions, section 5).
type resolution struct {
	Decision   string `json:"decision"`
	ResolvedAt int64  `json:"resolved_at"`
	Signature  string `json:"operator_signature"`
	Note       string `json:"note,omitempty"`
}

// resolve shows the hold, asks, signs the decision about exactly that, and sends it.
func (c *resolveFlags) resolve(std cli.Streams, decision, question string) error {
	private, err := attest.ReadOperatorKey(c.Key)
	if err != nil {
		return err
	}
	return c.withDesk(std, func(ctx context.Context, desk holdDesk) error {
		_, hold, err := readHold(ctx, desk, c.ID)
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
		now := clock.System()()
		if err := showHold(std.Err, &hold, program, now); err != nil {
			return err
		}
		if !c.Yes && !cli.Ask(std, std.Err, question) {
			return cli.Fail("nothing was signed; answer y, or give --yes")
		}
		signed := signResolution(private, hold, decision, clock.System()().Unix())
		signed.Note = c.Note
		if err := desk.resolve(ctx, &hold, signed); err != nil {
			return err
		}
		fmt.Fprintf(std.Out, "%s %s\n", hold.HoldID, decision)
		return nil
	})
}

// showHold prints the intent that waits, and what else a person decides by: the summary that approvers are shown where the service that
// runs gives it.
func showHold(w io.Writer, hold *holdAnswer, program *vm.Program, now time.Time) error {
	if err := showIntent(w, hold.Intent); err != nil {
		return err
	}
	lines := ownLines(hold)
	if hold.Summary != "" {
		lines = strings.Split(hold.Summary, "\n")
	}
	if hold.Summary == "" || program != nil {
		if err := showAmounts(w, hold, program); err != nil {
			return err
		}
	}
	expires := time.Unix(hold.ExpiresAt, 0).UTC()
	lines = append(lines, "time left: "+expires.Sub(now).Round(time.Second).String()+", until "+expires.Format(time.RFC3339))
	if hold.Waiting > 0 {
		lines = append(lines, fmt.Sprintf("waiting: %d in all, %d more of this agent", hold.Waiting, hold.Others))
	}
	for _, line := range lines {
		fmt.Fprintln(w, strings.Map(cli.OneLine, line))
	}
	return nil
}

// ownLines is who asks, and which rule holds it, where there is no summary.
func ownLines(hold *holdAnswer) []string {
	rule := "rule: " + hold.PolicyRule
	if hold.Line > 0 {
		rule += fmt.Sprintf(", line %d of the policy", hold.Line)
	}
	if hold.Entry != "" {
		rule += ", because of " + hold.Entry
	}
	lines := []string{"agent: " + hold.AgentID, rule, "policy: " + hold.PolicyHash}
	if hold.KeyID != "" {
		lines = append(lines, "API key: "+hold.KeyID)
	}
	return lines
}

// showAmounts prints a hold's amounts in the units that people use. The decimals of tokens are from the operator's copy of
// the policy, nil where there is none: what the service said of them would not be covered by the signature.
func showAmounts(w io.Writer, hold *holdAnswer, policy *vm.Program) error {
	lines, err := holds.Amounts(hold.Intent, "", hold.MaxFeeBase, policy)
	if err != nil {
		return cli.Fail("%v", err)
	}
	for _, line := range lines {
		fmt.Fprintln(w, strings.Map(cli.OneLine, line))
	}
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
	return resolution{Decision: decision, ResolvedAt: at, Signature: base64.RawURLEncoding.EncodeToString(ed25519.Sign(private, text))}
}
