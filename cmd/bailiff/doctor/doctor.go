package doctor

import (
	"fmt"
	"os"
	"strings"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/client"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/runtime/clock"
	pebbleledger "bailiff/runtime/ledger/pebble"
)

// Command examines a service and prints its findings.
type Command struct {
	JSON bool `name:"json" help:"Print JSON."`
	cli.ProgressFlag
}

// Help lists the subjects of the examination.
func (c *Command) Help() string {
	return `Looks at the settings in the environment, and at what they name: the policy and its signature, signing keys, data,
permissions, disk, clock, addresses, certificates, the database of SVC_STORE and, in a data folder, the record's chain. Run it as the service's user, with the
service's environment. It changes nothing. Where something is wrong the exit code is 1, and each finding says what to do.`
}

// The verdicts of findings.
const (
	Sound   = "ok"
	Doubt   = "warning"
	Trouble = "PROBLEM"
)

// Finding is what one look at something gave.
type Finding struct {
	Verdict string `json:"verdict"`
	About   string `json:"about"`
	Message string `json:"message"` // what is so and, unless that is sound, what to do
}

// Patient is what is examined.
type Patient struct {
	settings *cmdsettings.Settings
	Clock    clock.Clock
	running  bool                 // a service runs on the data folder
	waits    bool                 // one does that is not ready yet, as where another instance of SVC_STORE decides
	working  func() (done func()) // says how long the record is verified, until it is done
	Findings []Finding
}

// Add adds a finding.
func (p *Patient) Add(verdict, about, format string, arguments ...any) {
	p.Findings = append(p.Findings, Finding{verdict, about, cli.Plainf(format, arguments...)})
}

// Run examines everything and prints what was found.
func (c *Command) Run(std cli.Streams) error {
	p := &Patient{Clock: clock.System(), working: func() func() { return c.Start(std, "verifying the record").Working() }}
	s, err := cmdsettings.Load(os.Environ())
	if err != nil {
		p.Add(Trouble, "settings", "%v", err)
		return c.Report(std, p)
	}
	p.settings = s
	for _, name := range cmdsettings.Unknown(os.Environ()) {
		p.Add(Doubt, "settings", "%s is not a setting and is ignored; bailiff serve --help lists them", name)
	}
	if remote := client.DialAdmin(s.AdminSocket()); remote != nil {
		p.running = true
		p.examineHalt(remote)
	} else {
		p.waits = s.Store != "" && pebbleledger.Held(s.DataDir)
	}
	for _, examine := range []func(){
		p.examineHosting, p.examineData, p.examineRetention, p.examineDisk, p.examineKeys, p.examineClock, p.examineAddresses, p.examineCertificates, p.examineStore, p.examineRecord,
	} {
		examine()
	}
	return c.Report(std, p)
}

// Report prints the findings; the exit code is 1 where one is a problem.
func (c *Command) Report(std cli.Streams, p *Patient) error {
	code := cli.ExitDone
	for _, f := range p.Findings {
		if f.Verdict == Trouble {
			code = cli.ExitFailed
		}
	}
	if c.JSON {
		if err := cli.PrintJSON(std.Out, p.Findings); err != nil {
			return err
		}
		return cli.ExitWith(code)
	}
	for _, f := range p.Findings {
		fmt.Fprintf(std.Out, "%-8s %-12s %s\n", f.Verdict, f.About, strings.Map(cli.KeepLines, f.Message))
	}
	return cli.ExitWith(code)
}
