package conform

import (
	"crypto/ed25519"
	cryptorand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/fuzz/conform"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
)

// signer is the key of --key; nil where no report is to be signed.
func (c *runCommand) signer() (ed25519.PrivateKey, error) {
	if (c.Report == "") != (c.Key == "") {
		return nil, cli.Usage("--report and --key go together: a file for the report, and the file of the private key that signs it")
	}
	if c.Key == "" {
		return nil, nil
	}
	return readKey(c.Key)
}

// sign writes the signed report.
func (c *runCommand) sign(private ed25519.PrivateKey, report *conform.Report) error {
	signed, err := conform.Sign(private, kit(), clock.System()(), report)
	if err != nil {
		return cli.Fail("%v", err)
	}
	return cli.WriteFile(c.Report, signed)
}

// kit names this build in reports.
func kit() string {
	build := cli.ThisBuild()
	name := build.Version + " " + build.Commit
	if build.Modified {
		name += "+changes"
	}
	return name
}

type verifyCommand struct {
	serviceFlags
	File   string        `arg:"" name:"report" help:"The signed report." placeholder:"REPORT"`
	Signer string        `required:"" help:"The public key that the report has to be signed by, as bailiff keygen prints it." placeholder:"KEY"`
	For    time.Duration `name:"for" default:"1m" help:"For how long blocks are run again (${default})." placeholder:"DURATION"`
}

// Help describes the check.
func (c *verifyCommand) Help() string {
	return `Checks the signature of a report that bailiff conform --report has written, and that its parts add up. Then it draws blocks of the
run, sends their policies and requests to the service at --url with fresh keys, and compares cases and digests. The service and the build of
the command have to be those of the report. Exit code 1 says that something differs, 5 that the check was interrupted. The report's cases of Gateway, Client and of the
requests that a run makes once are in no block.`
}

// Run verifies.
func (c *verifyCommand) Run(std cli.Streams) error {
	if c.For < 0 {
		return cli.Usage("--for is %s; write a duration, such as 1m", c.For)
	}
	config, err := c.config(true)
	if err != nil {
		return err
	}
	public, err := attest.ParseOperatorKey(c.Signer)
	if err != nil {
		return cli.Usage("--signer: %v", err)
	}
	text, err := cli.ReadFile(c.File, attest.MaxReportBytes)
	if err != nil {
		return cli.Unreadable(err)
	}
	signed, err := conform.OpenSigned(public, text)
	if err != nil {
		return cli.Fail("%s: %v", c.File, err)
	}
	r := signed.Report
	fmt.Fprintf(std.Out, "signed, by %s\n%s: %d cases with seed %d, %d divergences, by kit %s\n", c.Signer, signed.At.Format(time.RFC3339), r.Cases, r.Seed, len(r.Divergences), signed.Kit)
	if signed.Kit != kit() {
		fmt.Fprintf(std.Out, "this is kit %s: where its requests are others, so are the digests\n", kit())
	}
	ctx, stop := untilInterrupted()
	defer stop()
	var seed [32]byte
	_, _ = cryptorand.Read(seed[:]) // never fails
	again, err := conform.RunAgain(ctx, *config, r, c.For, rand.New(rand.NewChaCha8(seed)))
	if err != nil {
		return cli.Fail("%v", err)
	}
	for _, one := range again.Differences {
		fmt.Fprintln(std.Out, one)
	}
	fmt.Fprintf(std.Out, "%d of %d blocks with %d cases were run again, %d differences\n", again.Blocks, len(r.Blocks), again.Cases, len(again.Differences))
	switch {
	case len(again.Differences) > 0:
		return cli.ExitWith(cli.ExitFailed)
	case again.Stopped != "":
		fmt.Fprintf(std.Out, "not finished: %s\n", again.Stopped)
		return cli.ExitWith(cli.ExitUnfinished)
	}
	return nil
}
