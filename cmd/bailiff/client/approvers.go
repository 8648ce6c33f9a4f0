package client

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/policy"
	"bailiff/cmd/bailiff/settings"
	"bailiff/compiler"
	"bailiff/compiler/frame"
	"bailiff/runtime/approvals"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/eventjson"
	"bailiff/runtime/ledger"
	"bailiff/vm"
	"bailiff/vm/amount"
)

type approversCommand struct {
	Add     approversAddCommand     `cmd:"" help:"Open an enrolment: a link and a code, with which somebody makes a passkey."`
	Confirm approversConfirmCommand `cmd:"" help:"Confirm a passkey, and say what it may decide, with the operator's signature."`
	List    approversListCommand    `cmd:"" help:"List who may decide holds."`
	Suspend approversSuspendCommand `cmd:"" help:"Stop an approver's passkeys from deciding, with the operator's signature."`
	Resume  approversResumeCommand  `cmd:"" help:"Let them decide again, with the operator's signature."`
	Remove  approversRemoveCommand  `cmd:"" help:"Forget an approver's passkeys, with the operator's signature."`
}

const approversHelp = `Needs a service that runs on SVC_DATA_DIR (default: data) with SVC_PUBLIC_URL: an https address, or http://localhost for a trial.`

// withApprovers calls use with the service that runs on the data folder.
func withApprovers(use func(context.Context, *remoteAdmin) error) error {
	s, err := settings.Load(os.Environ())
	if err != nil {
		return cli.Usage("%v", err)
	}
	service := DialAdmin(s.AdminSocket())
	if service == nil {
		return cli.Fail("no service that this user may administer runs on %s; start one, or set SVC_DATA_DIR", s.DataDir)
	}
	return use(context.Background(), service)
}

// approvers asks who may decide.
func (r *remoteAdmin) approvers(ctx context.Context) (*approvals.List, error) {
	list := new(approvals.List)
	return list, r.call(ctx, "GET", "/approvers", nil, list)
}

// stateApprover sends a statement.
func (r *remoteAdmin) stateApprover(ctx context.Context, s *eventjson.Approver) error {
	return r.call(ctx, "POST", "/approvers", s, new(approvals.List))
}

type approversAddCommand struct {
	Name string `arg:"" help:"The approver's name: lower-case letters and digits, and . _ - between them."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Help says how an enrolment goes on.
func (c *approversAddCommand) Help() string {
	return `Send the link one way and the code another, so that a person who reads only one of them can't use it. Five wrong codes end the link. The browser
that makes the passkey shows six words: have the approver read them to you, and confirm with: bailiff approvers confirm NAME

` + approversHelp
}

// Run opens an enrolment.
func (c *approversAddCommand) Run(std cli.Streams) error {
	return withApprovers(func(ctx context.Context, service *remoteAdmin) error {
		opened := new(approvals.Enrolment)
		err := service.call(ctx, "POST", "/approvers/enrolments", map[string]string{"approver": c.Name}, opened)
		if err != nil || c.JSON {
			return cli.OrPrint(std.Out, opened, err)
		}
		_, err = fmt.Fprintf(std.Out, "link %s\ncode %s\nThe link is good until %s. Send the code by another way than the link.\n",
			opened.Link, opened.Code, time.Unix(opened.ExpiresAt, 0).UTC().Format(time.RFC3339))
		return err
	})
}

type approversListCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Help says what the command works on.
func (c *approversListCommand) Help() string { return approversHelp }

// Run lists the devices, and the enrolments that wait.
func (c *approversListCommand) Run(std cli.Streams) error {
	return withApprovers(func(ctx context.Context, service *remoteAdmin) error {
		list, err := service.approvers(ctx)
		if err != nil || c.JSON {
			return cli.OrPrint(std.Out, list, err)
		}
		if err := cli.PrintTable(std.Out, "APPROVER\tSTATE\tDEVICE\tSECTIONS\tAMOUNTS (BASE UNITS)\tKEYS\tEXPIRES", list.Devices, deviceRow); err != nil {
			return err
		}
		for _, e := range list.Enrolments {
			state := "has made no passkey yet"
			if e.Credential != "" {
				state = "waits to be confirmed: bailiff approvers confirm " + e.Name
			}
			fmt.Fprintf(std.Out, "the enrolment of %s %s\n", e.Name, state)
		}
		return nil
	})
}

func deviceRow(d approvals.Device) string {
	state := "active"
	switch now := clock.System()().Unix(); {
	case d.SuspendedAt != 0:
		state = "suspended"
	case d.ExpiresAt <= now:
		state = "expired"
	}
	var amounts []string
	for asset, most := range d.Amounts {
		amounts = append(amounts, asset+"="+most)
	}
	slices.Sort(amounts)
	if d.WithoutAmount {
		amounts = append(amounts, "without an amount")
	}
	keys := strings.Join(d.Keys, ",")
	if keys == "" {
		keys = "all"
	}
	return strings.Join([]string{
		d.Name, state, shortDevice(d.Credential), strings.Join(d.Sections, ","), orNone(strings.Join(amounts, ",")), keys, time.Unix(d.ExpiresAt, 0).UTC().Format(time.RFC3339),
	}, "\t")
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// shortDevice is as much of a credential's id as tells two devices apart.
func shortDevice(id string) string { return id[:min(len(id), 12)] }

// signerFlags are what the commands that sign a statement have in common.
type signerFlags struct {
	Name   string `arg:"" help:"The approver's name."`
	Key    string `required:"" help:"File of the operator's private key, which signs a statement and stays here." placeholder:"FILE" type:"path"`
	Device string `help:"The beginning of a device's id, as list shows it; without it all devices of the approver." placeholder:"ID"`
}

// sign signs a statement and sends it.
func (c *signerFlags) sign(ctx context.Context, service *remoteAdmin, list *approvals.List, form *eventjson.Approver) error {
	private, err := attest.ReadOperatorKey(c.Key)
	if err != nil {
		return err
	}
	form.Name, form.Serial, form.SignedAt = c.Name, list.Serial+1, clock.System()().Unix()
	form.Operator = attest.FormatOperatorKey(private.Public().(ed25519.PublicKey))
	statement, err := form.Statement()
	if err != nil {
		return cli.Fail("%s", cli.WithoutLayer(err.Error()))
	}
	form.Signature = base64.RawURLEncoding.EncodeToString(ed25519.Sign(private, statement.Text(list.Environment, list.Issuer)))
	return service.stateApprover(ctx, form)
}

// device returns the id of the device that the flag names, "" for all of them.
func (c *signerFlags) device(list *approvals.List) (string, error) {
	var found []string
	for _, d := range list.Devices {
		if d.Name == c.Name && strings.HasPrefix(d.Credential, c.Device) {
			found = append(found, d.Credential)
		}
	}
	switch {
	case len(found) == 0:
		return "", cli.Fail("%s has no such device; bailiff approvers list shows them", c.Name)
	case c.Device == "":
		return "", nil
	case len(found) > 1:
		return "", cli.Fail("the ids of %d devices begin with %q; give more of it", len(found), c.Device)
	}
	return found[0], nil
}

// change signs a statement that confirms nothing.
func (c *signerFlags) change(std cli.Streams, action ledger.ApproverAction, done string) error {
	return withApprovers(func(ctx context.Context, service *remoteAdmin) error {
		list, err := service.approvers(ctx)
		if err != nil {
			return err
		}
		device, err := c.device(list)
		if err != nil {
			return err
		}
		if err := c.sign(ctx, service, list, &eventjson.Approver{Action: action.String(), Credential: device}); err != nil {
			return err
		}
		return printLine(std.Out, c.Name+" "+done)
	})
}

const changeHelp = `When the command returns, it is durable and in force: also for pages that are open, and for half of an approval by two.

` + approversHelp

type approversSuspendCommand struct{ signerFlags }

// Help says when it is in force.
func (c *approversSuspendCommand) Help() string { return changeHelp }

// Run suspends an approver's devices.
func (c *approversSuspendCommand) Run(std cli.Streams) error {
	return c.change(std, ledger.SuspendApprover, "is suspended")
}

type approversResumeCommand struct{ signerFlags }

// Help says when it is in force.
func (c *approversResumeCommand) Help() string { return changeHelp }

// Run lets an approver's devices decide again.
func (c *approversResumeCommand) Run(std cli.Streams) error {
	return c.change(std, ledger.ResumeApprover, "may decide again")
}

type approversRemoveCommand struct{ signerFlags }

// Help says when it is in force.
func (c *approversRemoveCommand) Help() string { return changeHelp }

// Run forgets an approver's devices.
func (c *approversRemoveCommand) Run(std cli.Streams) error {
	return c.change(std, ledger.RemoveApprover, "is removed")
}

type approversConfirmCommand struct {
	signerFlags
	Words         string            `help:"The six words that the approver has read to you; without it the command asks for them." placeholder:"WORDS"`
	Keys          []string          `help:"Ids of the API keys whose holds the passkey may decide; without it those of all keys of the operator." placeholder:"ID"`
	Sections      []string          `required:"" help:"Sections of the policy whose holds it may decide, such as evm, mcp, tool_calls." placeholder:"SECTION"`
	Most          map[string]string `help:"The highest amount of an asset, such as eth=0.5 or usdc=250; of others none. Tokens take --policy." placeholder:"ASSET=AMOUNT"`
	WithoutAmount bool              `help:"Also intents that have no amount, such as commands."`
	Days          int               `default:"365" help:"For how many days." placeholder:"N"`
	Policy        string            `help:"File of the policy that says how many decimals the tokens of --most have." placeholder:"FILE" type:"path"`
}

// Help says what is compared.
func (c *approversConfirmCommand) Help() string {
	return `Has you type the six words that the approver's browser shows, so that you confirm that passkey and no other one, and signs what it may
decide. A device that is confirmed already gets the new bounds.

` + approversHelp
}

// Run confirms a passkey.
func (c *approversConfirmCommand) Run(std cli.Streams) error {
	return withApprovers(func(ctx context.Context, service *remoteAdmin) error {
		list, err := service.approvers(ctx)
		if err != nil {
			return err
		}
		form := &eventjson.Approver{
			Action: ledger.ConfirmApprover.String(), Keys: c.Keys, Sections: c.Sections, WithoutAmount: c.WithoutAmount,
			ExpiresAt: clock.System()().AddDate(0, 0, c.Days).Unix(),
		}
		if form.Amounts, err = c.amounts(std); err != nil {
			return err
		}
		if form.Credential, form.PublicKey, err = c.passkey(list); err != nil {
			return err
		}
		if err := c.checkSections(); err != nil {
			return err
		}
		if err := c.compare(std, form); err != nil {
			return err
		}
		if err := c.sign(ctx, service, list, form); err != nil {
			return err
		}
		return printLine(std.Out, c.Name+" is confirmed")
	})
}

// passkey returns the passkey that waits for a confirmation or, where none does, the device that is confirmed anew.
func (c *approversConfirmCommand) passkey(list *approvals.List) (id, publicKey string, err error) {
	for _, e := range list.Enrolments {
		switch {
		case e.Name != c.Name || c.Device != "":
		case e.Credential == "":
			return "", "", cli.Fail("%s has not made a passkey yet: the link that `bailiff approvers add` printed has to be opened first", c.Name)
		default:
			return e.Credential, e.PublicKey, nil
		}
	}
	var found []approvals.Device
	for _, d := range list.Devices {
		if d.Name == c.Name && strings.HasPrefix(d.Credential, c.Device) {
			found = append(found, d)
		}
	}
	switch len(found) {
	case 0:
		if list.PagesAt != "" {
			return "", "", cli.Fail("no passkey of %s waits to be confirmed here: the approvers' pages are at the instance %s; run this on its machine", c.Name, list.PagesAt)
		}
		return "", "", cli.Fail("no passkey of %s waits to be confirmed; begin with: bailiff approvers add %s", c.Name, c.Name)
	case 1:
		return found[0].Credential, found[0].PublicKey, nil
	}
	return "", "", cli.Fail("%s has %d devices; give --device", c.Name, len(found))
}

// compare has the operator say which passkey is meant.
func (c *approversConfirmCommand) compare(std cli.Streams, form *eventjson.Approver) error {
	statement, err := form.Statement()
	if statement == nil {
		return cli.Fail("%s", cli.WithoutLayer(err.Error()))
	}
	given := c.Words
	if given == "" {
		fmt.Fprintf(std.Err, "Type the six words that the browser of %s shows: ", c.Name)
		given, _ = bufio.NewReader(std.In).ReadString('\n') // no line: no words
	}
	if strings.Join(strings.Fields(strings.ToLower(given)), " ") != approvals.Words(statement.Credential, statement.PublicKey) {
		return cli.Fail("these are not the words of the passkey that waits; nothing was signed. If they are what the approver's browser shows, somebody else "+
			"has made a passkey with the link: open another enrolment with: bailiff approvers add %s", c.Name)
	}
	return nil
}

// checkSections refuses sections that no policy has.
func (c *approversConfirmCommand) checkSections() error {
	var known []string
	for _, section := range compiler.Sections() {
		known = append(known, section.Name)
	}
	for _, section := range c.Sections {
		if !slices.Contains(known, section) {
			return cli.Usage("--sections has %q; it can have %s", section, strings.Join(known, ", "))
		}
	}
	return nil
}

// amounts returns the highest amounts in base units.
func (c *approversConfirmCommand) amounts(std cli.Streams) (map[string]string, error) {
	var tokens []vm.Token
	if c.Policy != "" {
		src, err := cli.ReadPolicy(std, c.Policy)
		if err != nil {
			return nil, err
		}
		compiled, found := compiler.Compile(src)
		if compiled.Program == nil {
			return nil, policy.Printed(std, src, found)
		}
		tokens = compiled.Program.Tokens()
	}
	base := map[string]string{}
	for asset, text := range c.Most {
		asset = strings.ToLower(asset)
		decimals := uint8(frame.NativeDecimals)
		if asset != ledger.NativeAsset {
			at := slices.IndexFunc(tokens, func(t vm.Token) bool { return t.Symbol == asset })
			if at < 0 {
				return nil, cli.Usage("--most has %q, whose decimals are not known; give --policy with a file that has token.%s.decimals", asset, strings.ToUpper(asset))
			}
			decimals = tokens[at].Decimals
		}
		most, err := amount.Parse(text, decimals)
		if err != nil {
			return nil, cli.Usage("--most %s=%s is not an amount: %v", asset, text, err)
		}
		base[asset] = most.String()
	}
	return base, nil
}
