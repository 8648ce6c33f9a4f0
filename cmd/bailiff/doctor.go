package main

import (
	"fmt"
	"os"
	"strings"

	"bailiff/runtime/clock"
)

type doctorCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Help says what is looked at.
func (c *doctorCommand) Help() string {
	return `Looks at the settings in the environment, and at what they name: the policy and its signature, signing keys, data,
permissions, disk, clock, addresses, certificates, and the record's chain. Run it as the service's user, with the
service's environment. It changes nothing. Where something is wrong the exit code is 1, and each finding says what to do.`
}

// The verdicts of findings.
const (
	sound   = "ok"
	doubt   = "warning"
	trouble = "PROBLEM"
)

// finding is what one look at something gave.
type finding struct {
	Verdict string `json:"verdict"`
	About   string `json:"about"`
	Message string `json:"message"` // what is so and, unless that is sound, what to do
}

// patient is what is examined.
type patient struct {
	settings settings
	clock    clock.Clock
	running  bool // a service runs on the data folder
	findings []finding
}

func (p *patient) add(verdict, about, format string, arguments ...any) {
	p.findings = append(p.findings, finding{verdict, about, plainf(format, arguments...)})
}

// Run examines everything and prints what was found.
func (c *doctorCommand) Run(std streams) error {
	p := &patient{clock: clock.System()}
	s, err := readSettings(os.Environ())
	if err != nil {
		p.add(trouble, "settings", "%v", err)
		return c.report(std, p)
	}
	p.settings = s
	for _, name := range unknownSettings(os.Environ()) {
		p.add(doubt, "settings", "%s is no setting and is ignored; bailiff serve --help lists them", name)
	}
	p.running = dialAdmin(s.adminSocket()) != nil
	for _, examine := range []func(){
		p.examineHosting, p.examineData, p.examineDisk, p.examineKeys, p.examineClock, p.examineAddresses, p.examineCertificates, p.examineRecord,
	} {
		examine()
	}
	return c.report(std, p)
}

// report prints the findings; the exit code is 1 where one is a problem.
func (c *doctorCommand) report(std streams, p *patient) error {
	code := exitDone
	for _, f := range p.findings {
		if f.Verdict == trouble {
			code = exitFailed
		}
	}
	if c.JSON {
		if err := printJSON(std.out, p.findings); err != nil {
			return err
		}
		return exitWith(code)
	}
	for _, f := range p.findings {
		fmt.Fprintf(std.out, "%-8s %-12s %s\n", f.Verdict, f.About, strings.Map(keepLines, f.Message))
	}
	return exitWith(code)
}
