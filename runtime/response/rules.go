package response

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Version is the version of the form that rules are signed in.
const Version = 1

// RulesetV1 is the one ruleset that this package knows.
const RulesetV1 = "sof-response-rules-v1"

// A Class is a kind of finding.
type Class string

// The classes of findings.
const (
	MaliciousURL    Class = "malicious_url"
	PII             Class = "pii"
	PromptInjection Class = "prompt_injection"
	Secret          Class = "secret"
)

// classes are all classes, in the order in which findings are looked for.
var classes = []Class{Secret, PII, MaliciousURL, PromptInjection}

// Rules are the response rules of one policy. The zero value with its Version covers no tool.
type Rules struct {
	Version       int      `json:"version"`
	WebFetchTools []string `json:"webFetchTools,omitempty"` // in lower case, as <server>.<tool> or <tool>
	HTTPTools     []string `json:"httpTools,omitempty"`     // the same
	Ruleset       string   `json:"ruleset,omitempty"`
	Block         []Class  `json:"block,omitempty"`
	Redact        []Class  `json:"redact,omitempty"`
	Observe       []Class  `json:"observe,omitempty"`
	ObserveUntil  int64    `json:"observeUntil,omitempty"` // Unix seconds; 0: observing has ended
	DenyString    string   `json:"denyString,omitempty"`
	Scanner       *Scanner `json:"scanner,omitempty"`
}

// Scanner is the scanner that a policy names.
type Scanner struct {
	Required      bool    `json:"required,omitempty"`
	Profile       string  `json:"profile,omitempty"`
	Classes       []Class `json:"classes,omitempty"`
	MinConfidence string  `json:"minConfidence,omitempty"` // a decimal from 0 to 1
}

// ErrRules means that the rules are not ones that this package can enforce.
var ErrRules = errors.New("the response rules cannot be enforced")

// Encode returns the form that is signed, and that ParseRules reads.
func (r *Rules) Encode() ([]byte, error) { return json.Marshal(r) }

// ParseRules reads what Encode wrote. Anything else, and every version, ruleset and class that is not known, is ErrRules.
func ParseRules(text []byte) (*Rules, error) {
	r := new(Rules)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRules, err)
	}
	if again, err := r.Encode(); err != nil || !bytes.Equal(again, text) {
		return nil, fmt.Errorf("%w: they have members that this version does not know; install the version of the service", ErrRules)
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRules, err)
	}
	return r, nil
}

func (r *Rules) check() error {
	if r.Version != Version {
		return fmt.Errorf("they are of version %d; allowed: %d", r.Version, Version)
	}
	if r.Ruleset != RulesetV1 && (r.Ruleset != "" || r.covers()) {
		return fmt.Errorf("the ruleset is %q; allowed: %s", r.Ruleset, RulesetV1)
	}
	lists := [][]Class{r.Block, r.Redact, r.Observe}
	if r.Scanner != nil {
		lists = append(lists, r.Scanner.Classes)
	}
	for _, class := range slices.Concat(lists...) {
		if !slices.Contains(classes, class) {
			return fmt.Errorf("the class is %q; allowed: %v", class, classes)
		}
	}
	return nil
}

// covers reports whether the results of any tool are inspected.
func (r *Rules) covers() bool { return len(r.WebFetchTools)+len(r.HTTPTools) > 0 }

// Covers reports whether the results of a tool are inspected, and whether as web pages. An empty tool is one that is not known:
// it counts as covered where any is.
func (r *Rules) Covers(server, tool string) (covered, page bool) {
	if tool == "" {
		return r.covers(), len(r.WebFetchTools) > 0
	}
	tool = strings.ToLower(tool)
	named := func(list []string) bool {
		return slices.Contains(list, tool) || slices.Contains(list, strings.ToLower(server)+"."+tool)
	}
	page = named(r.WebFetchTools)
	return page || named(r.HTTPTools), page
}

// A treatment is what becomes of a finding.
type treatment uint8

const (
	ignored treatment = iota // the class is not looked for
	observed
	redacted
	blocked
)

// treatment says what becomes of the findings of a class at a time in Unix seconds: the strictest of what the lists say. A class
// that was observed is blocked when observing has ended, unless another list has it.
func (r *Rules) treatment(class Class, now int64) treatment {
	switch {
	case slices.Contains(r.Block, class):
		return blocked
	case slices.Contains(r.Redact, class):
		return redacted
	case !slices.Contains(r.Observe, class):
		return ignored
	case now < r.ObserveUntil:
		return observed
	}
	return blocked
}
