package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"bailiff/cmd/bailiff/cli"
	"bailiff/grammar"
	"bailiff/runtime/intent"
	"bailiff/runtime/policytest"
)

type testCommand struct {
	Format      string `enum:"text,json" default:"text" help:"text or json."`
	Only        string `name:"run" help:"Run only the tests whose names this RE2 pattern matches." placeholder:"REGEXP"`
	Coverage    bool   `help:"List the rules that no test names."`
	MinCoverage int    `name:"min-coverage" help:"Fail where the tests of a policy name less of its rules." placeholder:"PERCENT"`
	Base        bool   `name:"integer-amounts-base" help:"Read amounts without a point as base units, as SVC_INTEGER_AMOUNTS=base does."`
	cli.ProgressFlag
	Paths []string `arg:"" name:"path" help:"Policies, files of tests, and folders to look for them in."`
}

// Help says what a test is.
func (c *testCommand) Help() string {
	return `The tests of NAME.md are in NAME.test.yaml in the same folder (or .yml, .json, or NAME_test.yaml):

  defaults: {chainId: 8453}
  tests:
    - name: a small transfer passes
      intent: {action: wallet.transfer, amount: "0.1"}
      expect: {status: ALLOWED}
    - name: the third call is one too many
      steps:
        - intent: {action: bash, command: ls, task_id: t-1}
          repeat: 2
          expect: {status: ALLOWED}
        - expect: {status: DENIED, rule: execution_limits.max_tool_calls_per_task}

expect can have status, code, rule and a part of the message; a step can have shim, repeat, advance (1h), approve
and deny. The exit code is 1 where a test fails, 2 where there is none, or a file can't be read or names a rule that the
policy does not have.`
}

// Run runs the tests of each policy.
func (c *testCommand) Run(std cli.Streams) error {
	selected, err := regexp.Compile(c.Only)
	switch {
	case err != nil:
		return cli.Usage("--run: %v", err)
	case c.MinCoverage < 0 || c.MinCoverage > 100:
		return cli.Usage("--min-coverage is a percentage, from 0 to 100")
	case c.MinCoverage > 0 && c.Only != "":
		return cli.Usage("--min-coverage needs all tests; leave --run out")
	}
	suites, err := findTests(c.Paths)
	if err != nil {
		return err
	}
	var reports []policytest.Report
	worst := cli.ExitDone
	told := c.Start(std, "testing")
	for n, suite := range suites {
		told.Reached("%d of %d files of tests", n, len(suites))
		report, err := suite.run(std, selected, intent.Options{IntegerAmountsBase: c.Base})
		worst = max(worst, cli.Conclude(std, err))
		if err == nil {
			reports = append(reports, report)
		}
	}
	if err := c.print(std, reports); err != nil {
		return err
	}
	return c.verdict(std, reports, worst)
}

// print prints the reports.
func (c *testCommand) print(std cli.Streams, reports []policytest.Report) error {
	if c.Format == "json" {
		return policytest.WriteJSON(std.Out, reports)
	}
	for i := range reports {
		if err := reports[i].Write(std.Out, c.Coverage); err != nil {
			return err
		}
	}
	return nil
}

// verdict turns the reports into an exit code, nil where all is well. worst is the code of what could not be run.
func (c *testCommand) verdict(std cli.Streams, reports []policytest.Report, worst int) error {
	tests := 0
	for i := range reports {
		tests += len(reports[i].Results)
		if reports[i].Failed() > 0 {
			worst = max(worst, cli.ExitFailed)
		}
		if got := reports[i].Coverage.Percent(); got < c.MinCoverage {
			fmt.Fprintf(std.Err, "bailiff: the tests of %s cover %d %% of its rules, less than %d %%\n", reports[i].Policy, got, c.MinCoverage)
			worst = max(worst, cli.ExitFailed)
		}
	}
	if tests == 0 && worst == cli.ExitDone {
		return cli.Usage("no test was run: none has a name that --run matches")
	}
	return cli.ExitWith(worst)
}

// suite is a policy and the files of its tests.
type suite struct {
	policy string
	files  []*policytest.File
}

// run runs the tests of a suite.
func (s *suite) run(std cli.Streams, selected *regexp.Regexp, options intent.Options) (policytest.Report, error) {
	report := policytest.Report{Policy: s.policy}
	_, policy, err := loadPolicy(std, s.policy)
	if err != nil {
		return report, err
	}
	for _, file := range s.files {
		if err := file.Check(policy); err != nil {
			return report, cli.Usage("%v", err)
		}
	}
	for _, file := range s.files {
		for i := range file.Tests {
			if !selected.MatchString(file.Tests[i].Name) {
				continue
			}
			result, err := file.Tests[i].Run(file.Name, policy, options)
			if err != nil {
				return report, err
			}
			report.Results = append(report.Results, result)
		}
	}
	report.Coverage = policytest.Cover(policy, report.Results)
	return report, nil
}

// findTests returns the suites that paths name, or a usage error where there is none.
func findTests(paths []string) ([]suite, error) {
	var files, policies []string
	for _, path := range paths {
		tests, beside, err := testsAt(path)
		if err != nil {
			return nil, err
		}
		files, policies = append(files, tests...), append(policies, beside...)
	}
	slices.Sort(files)
	var suites []suite
	for _, name := range slices.Compact(files) {
		text, err := cli.ReadFile(name, policytest.MaxBytes)
		if err != nil {
			return nil, err
		}
		file, err := policytest.Parse(name, text)
		if err != nil {
			return nil, cli.Usage("%v", err)
		}
		suites = addTo(suites, filepath.Clean(file.Policy), file)
	}
	for _, policy := range policies {
		suites = addTo(suites, filepath.Clean(policy))
	}
	if len(files) == 0 {
		return nil, noTests(strings.Join(paths, ", "))
	}
	return suites, nil
}

// addTo adds files to the suite of a policy.
func addTo(suites []suite, policy string, files ...*policytest.File) []suite {
	at := slices.IndexFunc(suites, func(s suite) bool { return s.policy == policy })
	if at < 0 {
		return append(suites, suite{policy, files})
	}
	suites[at].files = append(suites[at].files, files...)
	return suites
}

// testsAt returns the files of tests that a path names, and the policies: a folder those in and below it, a policy those
// beside it.
func testsAt(path string) (tests, policies []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, cli.Unreadable(err)
	}
	if info.IsDir() {
		return testsBelow(path)
	}
	if _, ok := policytest.PolicyFor(path); ok || filepath.Ext(path) != ".md" {
		return []string{path}, nil, nil
	}
	beside, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, nil, cli.Unreadable(err)
	}
	for _, entry := range beside {
		name := filepath.Join(filepath.Dir(path), entry.Name())
		if policy, ok := policytest.PolicyFor(name); ok && policy == filepath.Clean(path) {
			tests = append(tests, name)
		}
	}
	if len(tests) == 0 {
		return nil, nil, noTests(path)
	}
	return tests, []string{path}, nil
}

// noTests is the usage error where there is nothing to run: a gate that finds nothing must not pass.
func noTests(where string) error {
	return cli.Usage("there are no tests in %s: the tests of NAME.md are in NAME.test.yaml beside it", where)
}

// testsBelow looks through a folder, hidden files and folders excepted.
func testsBelow(root string) (tests, policies []string, err error) {
	err = walkFiles(root, func(path string) error {
		_, isTest := policytest.PolicyFor(path)
		switch {
		case isTest:
			tests = append(tests, path)
		case filepath.Ext(path) == ".md":
			text, err := cli.ReadFile(path, grammar.MaxBytes)
			if err != nil {
				return err
			}
			if isPolicy(text) {
				policies = append(policies, path)
			}
		}
		return nil
	})
	return tests, policies, err
}
