package policytest

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"bailiff/vm/errcode"
)

// MaxBytes is the largest test file that is read.
const MaxBytes = 1 << 20

// maxRepeat bounds how often a step is repeated.
const maxRepeat = 10_000

// File is a file of tests.
type File struct {
	Name   string // as it was read under
	Policy string // of the policy, as a path like Name
	Tests  []Test
}

// Test is one test: a step, or a sequence of steps that share counters, holds and clock.
type Test struct {
	Name  string
	Line  int
	Steps []Step
}

// Step is an intent and what is expected of it.
type Step struct {
	Line    int
	Body    []byte // the request
	Shim    bool   // the key is a shim's
	Repeat  int    // how often it is sent, at least once
	Advance time.Duration
	Resolve Resolution
	Expect  Expectation
}

// Resolution says what happens to the hold that was opened last, before a step.
type Resolution uint8

// The resolutions.
const (
	Leave Resolution = iota
	Approve
	Deny
)

// Expectation is what an answer has to be. What is empty is not looked at.
type Expectation struct {
	Status  string
	Code    string
	Rule    string
	Message string // a part of the message

	ruleAt place // where the file names Rule
}

// place is a place in a test file, from 1.
type place struct{ line, column int }

// String returns the expectation in words.
func (e *Expectation) String() string { return describe(e.Status, e.Code, e.Rule, e.Message) }

// describe is the one form in which what was expected and what came of it are printed.
func describe(status, code, rule, message string) string {
	words := []string{status}
	if code != "" {
		words = append(words, code)
	}
	if rule != "" {
		words = append(words, "("+rule+")")
	}
	text := strings.Join(words, " ")
	if message != "" {
		text += ": " + strconv.Quote(message)
	}
	return text
}

// endings are the endings of the names of test files.
var endings = []string{".yaml", ".yml", ".json"}

// PolicyFor returns the path of the policy whose tests a file of this name holds, and false for the name of no test
// file.
func PolicyFor(name string) (policy string, ok bool) {
	ending := filepath.Ext(name)
	stem := strings.TrimSuffix(name, ending)
	if !slices.Contains(endings, ending) {
		return "", false
	}
	for _, mark := range []string{".test", "_test"} {
		if base, marked := strings.CutSuffix(stem, mark); marked && filepath.Base(base) != "." && base != "" {
			return base + ".md", true
		}
	}
	return "", false
}

// Parse reads a test file of that name. The error says where in it.
func Parse(name string, text []byte) (*File, error) {
	if len(text) > MaxBytes {
		return nil, &fileProblem{File: name, Message: "a test file has at most 1 MiB; divide it"}
	}
	r := &reader{name}
	root, err := r.document(text)
	if err != nil {
		return nil, err
	}
	file := &File{Name: name}
	file.Policy, _ = PolicyFor(name)
	var policy string
	var defaults, tests *yaml.Node
	if err := r.fields(root, "a test file", map[string]func(*yaml.Node) error{
		"policy": r.text(&policy), "defaults": keep(&defaults), "tests": keep(&tests),
	}); err != nil {
		return nil, err
	}
	if policy != "" {
		file.Policy = filepath.Join(filepath.Dir(name), filepath.FromSlash(policy))
	}
	if file.Policy == "" {
		return nil, r.fault(root, "it does not say which policy it tests; add policy, or name the file after the policy: NAME.test.yaml")
	}
	return file, r.tests(file, root, defaults, tests)
}

// keep returns a function that keeps a node for later.
func keep(into **yaml.Node) func(*yaml.Node) error {
	return func(node *yaml.Node) error {
		*into = node
		return nil
	}
}

// tests reads all tests of a file.
func (r *reader) tests(file *File, root, defaults, tests *yaml.Node) error {
	base, err := r.defaults(defaults)
	if err != nil {
		return err
	}
	if tests == nil || tests.Kind != yaml.SequenceNode || len(tests.Content) == 0 {
		return r.fault(root, "tests has to be a list of one test or more")
	}
	lines := map[string]int{}
	for _, node := range tests.Content {
		test, err := r.test(node, base)
		if err != nil {
			return err
		}
		if line := lines[test.Name]; line > 0 {
			return r.fault(node, "the test in line %d is called %q too", line, test.Name)
		}
		lines[test.Name] = test.Line
		file.Tests = append(file.Tests, *test)
	}
	return nil
}

// test reads a test: with steps, or a step itself.
func (r *reader) test(node *yaml.Node, base request) (*Test, error) {
	test := &Test{Line: node.Line}
	var steps *yaml.Node
	single := &step{}
	readers := map[string]func(*yaml.Node) error{"name": r.text(&test.Name), "steps": keep(&steps)}
	maps.Copy(readers, map[string]func(*yaml.Node) error{
		"intent": keep(&single.intent), "shim": r.flag(&single.Shim), "expect": keep(&single.expect),
	})
	if node.Kind == yaml.MappingNode && member(node, "steps") == nil {
		for _, name := range []string{"repeat", "advance", "approve", "deny"} {
			if key := keyNode(node, name); key != nil {
				return nil, r.fault(key, "%s belongs into a step; give the test steps", name)
			}
		}
	}
	if err := r.fields(node, "a test", readers); err != nil {
		return nil, err
	}
	switch {
	case test.Name == "":
		return nil, r.fault(node, "the test has no name")
	case steps == nil:
		return test, r.finish(test, node, single, base)
	case single.intent != nil || single.expect != nil || single.Shim:
		return nil, r.fault(node, "a test with steps has intent, shim and expect in its steps")
	case steps.Kind != yaml.SequenceNode || len(steps.Content) == 0:
		return nil, r.fault(steps, "steps has to be a list of one step or more")
	}
	for _, node := range steps.Content {
		if err := r.step(test, node, base); err != nil {
			return nil, err
		}
	}
	return test, nil
}

// keyNode returns the node of a key, or nil.
func keyNode(node *yaml.Node, name string) *yaml.Node {
	for key := range pairs(node) {
		if key.Value == name {
			return key
		}
	}
	return nil
}

// step is a step as it is being read.
type step struct {
	Step
	intent, expect *yaml.Node
}

// step reads one step of a sequence.
func (r *reader) step(test *Test, node *yaml.Node, base request) error {
	read := &step{}
	var approve, deny bool
	if err := r.fields(node, "a step", map[string]func(*yaml.Node) error{
		"intent": keep(&read.intent), "shim": r.flag(&read.Shim), "expect": keep(&read.expect),
		"repeat": r.repeat(&read.Repeat), "advance": r.duration(&read.Advance),
		"approve": r.flag(&approve), "deny": r.flag(&deny),
	}); err != nil {
		return err
	}
	switch {
	case approve && deny:
		return r.fault(node, "a hold is approved or denied, not both")
	case approve:
		read.Resolve = Approve
	case deny:
		read.Resolve = Deny
	}
	return r.finish(test, node, read, base)
}

// finish adds a step to its test.
func (r *reader) finish(test *Test, node *yaml.Node, read *step, base request) (err error) {
	read.Line = node.Line
	read.Repeat = max(read.Repeat, 1)
	if read.expect == nil {
		return r.fault(node, "expect is missing; say at least which status is expected")
	}
	if err := r.expectation(read.expect, &read.Expect); err != nil {
		return err
	}
	switch {
	case read.intent != nil:
		read.Body, err = r.body(read.intent, base, read.Expect.Status == statusError)
	case len(test.Steps) == 0:
		err = r.fault(node, "intent is missing")
	default:
		read.Body = test.Steps[len(test.Steps)-1].Body
	}
	test.Steps = append(test.Steps, read.Step)
	return err
}

func (r *reader) repeat(into *int) func(*yaml.Node) error {
	return func(node *yaml.Node) error {
		n, err := strconv.Atoi(node.Value)
		if node.Kind != yaml.ScalarNode || err != nil || n < 1 || n > maxRepeat {
			return r.fault(node, "repeat has to be a number from 1 to %d", maxRepeat)
		}
		*into = n
		return nil
	}
}

func (r *reader) duration(into *time.Duration) func(*yaml.Node) error {
	return func(node *yaml.Node) error {
		d, err := time.ParseDuration(node.Value)
		if node.Kind != yaml.ScalarNode || err != nil || d <= 0 || d > maxAdvance {
			return r.fault(node, "advance has to be a time such as 90s, 30m or 24h, at most a year")
		}
		*into = d
		return nil
	}
}

// maxAdvance bounds how far a step moves the clock.
const maxAdvance = 366 * 24 * time.Hour

// statusError is the status of an answer to a request that is not valid.
const statusError = "ERROR"

// statuses are what an answer can be.
var statuses = []string{"ALLOWED", "DENIED", "PENDING", statusError}

// expectation reads what is expected.
func (r *reader) expectation(node *yaml.Node, e *Expectation) error {
	var status, denial *yaml.Node
	rule := func(node *yaml.Node) error {
		e.ruleAt = place{node.Line, node.Column}
		return r.text(&e.Rule)(node)
	}
	if err := r.fields(node, "expect", map[string]func(*yaml.Node) error{
		"status": keep(&status), "code": keep(&denial), "rule": rule, "message": r.text(&e.Message),
	}); err != nil {
		return err
	}
	if status == nil {
		return r.fault(node, "expect has no status; it can be %s", strings.Join(statuses, ", "))
	}
	if err := r.word(status, statuses, &e.Status); err != nil || denial == nil {
		return err
	}
	return r.word(denial, codes(), &e.Code)
}

// codes are all error codes.
func codes() []string {
	names := make([]string, len(errcode.Table))
	for i, info := range errcode.Table {
		names[i] = string(info.Code)
	}
	return names
}

// word reads one of several words.
func (r *reader) word(node *yaml.Node, words []string, into *string) error {
	if err := r.text(into)(node); err != nil {
		return err
	}
	if !slices.Contains(words, node.Value) {
		return r.notAmong(node, words)
	}
	return nil
}

// sorted returns the keys of a map in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
