// Package oracle is a second implementation of the policy language, for tests. It interprets the syntax tree of a policy anew
// for every intent, with strings, maps, regular expressions and math/big, in the order of the documents and in their words:
// the sections named in comments are those of docs/judging.md, "decisions" is docs/decisions.md, and
// "choices" is docs/choices.md. It is slow and plain on purpose. The compiler and its machine must agree with it on
// every policy and every intent; where the two differ, one of them has read the documents wrongly.
//
// So that a mistake is not made twice, the package shares only the grammar and the table of codes with the service. It
// decodes the body of a request, which the service's decoder must have accepted, and brings URLs, hosts, paths, commands,
// recipients, addresses, tokens, amounts, call data and usage into their normal forms by itself.
//
// # What a verdict says
//
// Status, Code and Rule are exact: they are those of the first violation in the order of the documents, else of the
// first hold. Reservations are exact too: the plan of an intent that is ALLOWED or PENDING. So are Holds and Notes of
// such an intent.
//
// Violations is what evaluation in file order gives. Beyond its first element it is not exact where a later rule
// reads what an earlier one refused: an intent whose token has no rule is not judged by its amount, one whose
// effects on files are not credible is not judged by them, a rule that fails in several ways is listed once, with the
// code of the first row of its table, and what a limit needs is not sought in evidence that was refused.
package oracle

import (
	"math/big"
	"slices"
	"strings"

	"bailiff/grammar"
	"bailiff/vm/errcode"
)

// The statuses of verdicts.
const (
	Allowed = "ALLOWED"
	Denied  = "DENIED"
	Pending = "PENDING"
	Error   = "ERROR" // the request is not valid under this policy: a 400
)

// A Policy is a policy as the oracle reads it: its tree, interpreted anew for every intent. Only its lists are cut
// into their items beforehand, and its patterns compiled. It never changes.
type Policy struct {
	version *grammar.Version

	evm, tools, mcp, custom, soft, execution *section
	repository, filesystem, git, database    *section

	tokens       []token
	chainActions map[string][]string // by chain id
	denials      []denyRule
	allowances   []allowRule
	caps         []limitCap
	dailyTokens  []dailyToken
	domains      []hostPattern // web_fetch.blocked_domains
	hosts        []hostPattern // http.allowed_hosts
	commands     []string      // bash.blocked_commands
	held         []string      // bash.require_approval
	filePaths    []pathEntry   // file_write.blocked_paths
	unreadable   []pathEntry   // file_read.blocked_paths
	targetPaths  []pathEntry   // filesystem.blocked_paths
	patterns     patterns
}

// Read takes a policy from its tree, which must be one that the compiler accepts. Its errors are about patterns,
// hosts and paths that the oracle cannot read; such a policy the compiler should have refused.
func Read(file *grammar.File) (*Policy, error) {
	p := &Policy{version: file.Version}
	for name, into := range map[string]**section{
		"evm": &p.evm, "tool_calls": &p.tools, "mcp": &p.mcp, "custom": &p.custom, "soft_limits": &p.soft,
		"execution_limits": &p.execution, "repository": &p.repository, "filesystem": &p.filesystem, "git": &p.git,
		"database": &p.database,
	} {
		*into = readSection(file.Section(name))
	}
	for _, read := range []func(*grammar.File) error{
		p.readTokens, p.readChainActions, p.readCustom, p.readCaps, p.readDailyTokens, p.readHosts, p.readNeedles, p.readFilePaths, p.readPatterns,
	} {
		if err := read(file); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// A Violation is one violated rule.
type Violation struct {
	Rule string // as matched_rule names it
	Code string
}

// A Reservation is one counter that a decision would advance.
type Reservation struct {
	// Counter names the counter: the rule, and for caps its action pattern and its group path behind it.
	Counter string
	Window  string // "hour", "day" or "task"
	// Group is the task id for the window "task", or the value that the cap groups by, or the two with a NUL between,
	// or "".
	Group string
	Op    string // "count" and "sum" add Amount, "max" keeps the highest
	// Amount is nil where the intent brings no usage: what was seen for the task counts then, and where none was seen
	// the intent is denied with SVC_MODEL_USAGE_UNAVAILABLE.
	Amount *big.Int // in base units: wei, dollars × 10^18, millionths of dollars of model spend; counts as they are
	Limit  *big.Int // in the same unit; the highest value that is still within it
	Code   string   // of the refusal
	Rule   string
}

// A Verdict is what the policy says of an intent.
type Verdict struct {
	Status       string
	Code, Rule   string        // of the first violation or hold; the Rule of an Error is the field that its message names
	Violations   []Violation   // every violated rule in order; see the package comment for what is exact
	Holds        []string      // the rules that hold, in order, each once
	Notes        []string      // the consensus rules that would hold but for consensus_require_hold: false
	Reservations []Reservation // the plan in order; empty unless Allowed or Pending

	// What a Memory needs beside: the task, "" for none; what the intent reports of it; the declared fee, nil for none.
	Task  string
	Usage Usage
	Fee   *big.Int
}

// Judge says what the policy says of a request, by its body as it was sent. The service's decoder must accept the body.
func (p *Policy) Judge(body []byte, from Sender) Verdict {
	sent, err := readRequest(body)
	if err != nil {
		return Verdict{Status: Error, Code: string(errcode.ValidationSchema)}
	}
	j := &judgement{p: p, sent: sent, from: from, shim: from.Shim}
	j.sentAction = sent.field("action").text
	j.action = asciiLower(j.sentAction)
	j.kind = p.kindOf(j.action)
	j.task = lowerLiterals(sent.field("task_id").text)

	// Order, steps 1 to 8.
	if field := j.invalid(); field != "" {
		return Verdict{Status: Error, Code: string(errcode.ValidationSchema), Rule: field}
	}
	j.tell()
	j.customDenials()
	j.gates()
	j.ownSection()
	j.allowOnly()
	j.holdRules()
	j.executionLimits()
	j.softLimits()
	return j.conclude()
}

// A judgement is the judging of one intent.
type judgement struct {
	p          *Policy
	sent       request
	from       Sender
	shim       bool
	sentAction string
	action     string // in lower case
	kind       intentKind
	task       string // "" without task_id, which is never empty where it is sent
	holdCode   errcode.Code
	verdict    Verdict
}

func (j *judgement) deny(rule string, c errcode.Code) {
	j.verdict.Violations = append(j.verdict.Violations, Violation{rule, string(c)})
}

func (j *judgement) hold(rule string, c errcode.Code) {
	if len(j.verdict.Holds) == 0 {
		j.holdCode = c
	}
	j.verdict.Holds = appendOnce(j.verdict.Holds, rule)
}

func (j *judgement) note(rule string) { j.verdict.Notes = appendOnce(j.verdict.Notes, rule) }

func (j *judgement) reserve(r Reservation) {
	j.verdict.Reservations = append(j.verdict.Reservations, r)
}

// conclude makes the verdict of what was found. "The first rule that is violated names matched_rule" (Order), and
// what is denied is not held (choices, "Answers").
func (j *judgement) conclude() Verdict {
	v := j.verdict
	switch {
	case len(v.Violations) > 0:
		v.Status, v.Code, v.Rule = Denied, v.Violations[0].Code, v.Violations[0].Rule
		v.Reservations = nil // "A denied verdict carries no reservations."
	case len(v.Holds) > 0:
		v.Status, v.Code, v.Rule = Pending, string(j.holdCode), v.Holds[0]
	default:
		v.Status = Allowed
	}
	return v
}

// ownSection is step 4, "the section of the intent's kind".
func (j *judgement) ownSection() {
	if j.kind != evmIntent {
		j.chain() // a chainId that is present must be allowed, whatever the kind (specification, grants.3)
	}
	switch j.kind {
	case evmIntent:
		j.evmSection()
	case toolIntent:
		j.toolSection()
	case mcpIntent:
		j.mcpSection()
	}
	// "Model intents need no grant."
}

func appendOnce(list []string, item string) []string {
	if slices.Contains(list, item) {
		return list
	}
	return append(list, item)
}

// asciiLower returns text with A to Z in lower case and everything else as it is: actions, symbols and addresses are
// ASCII, and a Kelvin sign is no k.
func asciiLower(text string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
}
