package vectors

import (
	"bytes"
	"encoding/json"
	"slices"
)

// A File is one file of vectors.
type File struct {
	Algorithm string          `json:"algorithm"` // the section of policies that the tests are about
	Schema    string          `json:"schema"`
	Count     int             `json:"numberOfTests"`
	Header    []string        `json:"header"`
	Notes     map[string]Note `json:"notes"` // by flag
	Groups    []*Group        `json:"testGroups"`
}

// A Note says what a flag means.
type Note struct {
	BugType     string   `json:"bugType"`
	Description string   `json:"description"`
	Links       []string `json:"links,omitempty"`
	Rules       []string `json:"rules,omitempty"` // that decide the tests with the flag
}

// A Group is a policy with its tests.
type Group struct {
	Type       string `json:"type"`
	Source     Source `json:"source"`
	PublicKey  string `json:"publicKey"` // the operator's, in the form of SVC_OPERATOR_PUBLIC_KEY
	Policy     string `json:"policy"`    // the signed bytes
	PolicyHash string `json:"policyHash"`
	Signature  string `json:"signature"` // of the policy by the operator
	Profiles   bool   `json:"profiles"`  // a trusted shim has to consent to the deployment
	Tests      []Test `json:"tests"`
}

// A Source says what a group was made from.
type Source struct {
	Name string `json:"name"`
	Seed int64  `json:"seed"`
}

// A Test is a trace, and what its last step is answered.
type Test struct {
	ID      int      `json:"tcId"`
	Comment string   `json:"comment"`
	Flags   []string `json:"flags"`
	Trace   []Step   `json:"trace"`
	Result  string   `json:"result"` // allowed, denied, pending or invalid
}

// A Share is how many tests a service can be asked over HTTP.
type Share struct {
	Plain  int
	Signed int // where the operator, who decides a hold, or a trusted shim, which consents to the deployment, signs what a service says
	Timed  int // none: a step is at another time than Start
}

// Add counts the tests of a file.
func (s *Share) Add(f *File) {
	for _, group := range f.Groups {
		for i := range group.Tests {
			switch trace := group.Tests[i].Trace; {
			case slices.ContainsFunc(trace, func(s Step) bool { return s.At != "" }):
				s.Timed++
			case group.Profiles, slices.ContainsFunc(trace, func(s Step) bool { return s.Resolve != "" }):
				s.Signed++
			default:
				s.Plain++
			}
		}
	}
}

// A Step is a request, or a decision on the hold that was opened last.
type Step struct {
	At      string  `json:"at,omitempty"`      // RFC 3339; absent: the time of the step before, of the first one Start
	Shim    bool    `json:"shim,omitempty"`    // the request comes from the shim's key
	TestRun bool    `json:"testRun,omitempty"` // test-run, not authorize
	Body    string  `json:"body,omitempty"`
	Resolve string  `json:"resolve,omitempty"` // ALLOWED or DENIED
	Expect  *Expect `json:"expect,omitempty"`
}

// An Expect is an answer, by what every implementation has to answer alike.
type Expect struct {
	HTTP   int    `json:"http"`
	Status string `json:"status"`
	Code   string `json:"error_code,omitempty"`
	Rule   string `json:"matched_rule,omitempty"`
	Hash   string `json:"intentHash,omitempty"` // where authorize allows or holds the intent: an answer of test-run names none
}

// Start is when traces begin.
const Start = "2030-01-01T12:00:00Z"

// encode writes a file: a line for each test.
func (f *File) encode() ([]byte, error) {
	head := *f
	head.Groups = []*Group{}
	text, err := marshal(head)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimSuffix(text, []byte("[]}"))
	text = append(text, "[\n"...)
	for i, group := range f.Groups {
		one := *group
		one.Tests = []Test{}
		line, err := marshal(one)
		if err != nil {
			return nil, err
		}
		text = append(append(text, bytes.TrimSuffix(line, []byte("[]}"))...), "[\n"...)
		for j := range group.Tests {
			line, err := marshal(group.Tests[j])
			if err != nil {
				return nil, err
			}
			text = append(append(text, line...), separator(j, len(group.Tests))...)
		}
		text = append(append(text, "]}"...), separator(i, len(f.Groups))...)
	}
	return append(text, "]}\n"...), nil
}

func separator(i, n int) string {
	if i+1 < n {
		return ",\n"
	}
	return "\n"
}

// marshal is json.Marshal that leaves <, > and & as they are.
func marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
