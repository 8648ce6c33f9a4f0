// Package authzen reads requests of the AuthZEN Authorization API 1.0 (OpenID Foundation) and translates each evaluation into a
// request for a decision.
//
// The action's name becomes the intent's action, and the subject's id the agent id, which grants nothing. Subject, action and
// resource are below `metadata.authzen`, where rules of `## custom` see them, and a resource of type `url`, `path`, `command` or
// `address` fills the field of that name. Members that the API does not define are ignored: no rule sees them.
package authzen

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bailiff/runtime/jcs"
)

// MaxEvaluations is how many evaluations a request has at most.
const MaxEvaluations = 100

// framework is the framework that decisions of this API name.
const framework = "authzen"

// A Semantic says how far the evaluations of a request are made.
type Semantic string

// The semantics of a request with several evaluations.
const (
	ExecuteAll          Semantic = "execute_all"
	DenyOnFirstDeny     Semantic = "deny_on_first_deny"
	PermitOnFirstPermit Semantic = "permit_on_first_permit"
)

// Ends reports whether no evaluation is made after one with that decision.
func (s Semantic) Ends(decision bool) bool {
	return s == DenyOnFirstDeny && !decision || s == PermitOnFirstPermit && decision
}

// A Request is one evaluation, or several.
type Request struct {
	Evaluations []Evaluation
	Semantic    Semantic
	Single      bool // it is answered with one decision, and not with a list
}

// An Evaluation asks for one decision.
type Evaluation struct {
	Subject  *Subject  `json:"subject"`
	Action   *Action   `json:"action"`
	Resource *Resource `json:"resource"`
	Context  struct{}  `json:"context"` // an object that no rule sees
}

// Subject is who asks for access.
type Subject struct {
	Type       string         `json:"type"`
	ID         string         `json:"id"`
	Properties jsontext.Value `json:"properties,omitempty"`
}

// Action is what the subject wants to do.
type Action struct {
	Name       string         `json:"name"`
	Properties jsontext.Value `json:"properties,omitempty"`
}

// Resource is what the action is about.
type Resource struct {
	Type       string         `json:"type"`
	ID         string         `json:"id"`
	Properties jsontext.Value `json:"properties,omitempty"`
}

// ReadEvaluation reads the body of a request to the endpoint of one evaluation.
func ReadEvaluation(body []byte) (*Request, error) {
	var one Evaluation
	if err := read(body, &one); err != nil {
		return nil, err
	}
	return &Request{Evaluations: []Evaluation{one}, Semantic: ExecuteAll, Single: true}, nil
}

// ReadEvaluations reads the body of a request to the endpoint of several evaluations. Members beside the list hold for each of
// them that lacks its own. Without a list it is one evaluation.
func ReadEvaluations(body []byte) (*Request, error) {
	var several struct {
		Evaluation `json:",inline"`
		List       []Evaluation `json:"evaluations"`
		Options    struct {
			Semantic Semantic `json:"evaluations_semantic"`
		} `json:"options"`
	}
	if err := read(body, &several); err != nil {
		return nil, err
	}
	if len(several.List) == 0 {
		return &Request{Evaluations: []Evaluation{several.Evaluation}, Semantic: ExecuteAll, Single: true}, nil
	}
	if n := len(several.List); n > MaxEvaluations {
		return nil, fmt.Errorf("evaluations: there are %d; send at most %d at once", n, MaxEvaluations)
	}
	switch several.Options.Semantic {
	case "":
		several.Options.Semantic = ExecuteAll
	case ExecuteAll, DenyOnFirstDeny, PermitOnFirstPermit:
	default:
		return nil, fmt.Errorf("options.evaluations_semantic: %.64q is not a semantic; write %s, %s or %s", several.Options.Semantic, ExecuteAll, DenyOnFirstDeny, PermitOnFirstPermit)
	}
	for i := range several.List {
		several.List[i].fill(&several.Evaluation)
	}
	return &Request{Evaluations: several.List, Semantic: several.Options.Semantic}, nil
}

// fill takes what an evaluation lacks from the members beside the list.
func (e *Evaluation) fill(from *Evaluation) {
	if e.Subject == nil {
		e.Subject = from.Subject
	}
	if e.Action == nil {
		e.Action = from.Action
	}
	if e.Resource == nil {
		e.Resource = from.Resource
	}
}

// read reads a body. A name that is there twice, bytes that are not UTF-8, and members of another type are errors.
func read(body []byte, into any) error {
	err := json.Unmarshal(body, into)
	var wrong *json.SemanticError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong) && wrong.JSONPointer != "":
		return fmt.Errorf("%.200s: is not of the type that AuthZEN gives it", string(wrong.JSONPointer)[1:])
	case errors.As(err, &wrong):
		return errors.New("a JSON object is expected")
	case errors.Is(err, jsontext.ErrDuplicateName):
		return errors.New("a member is there twice; send it once")
	}
	return errors.New("the body is not valid JSON")
}

// fields are the fields that resources of some types fill.
var fields = map[string]string{"url": "url", "path": "path", "command": "command", "address": "targetAddress"}

// Body returns the body of the request for a decision that an evaluation becomes (specification, "AuthZEN"), or an error that names
// a missing part. Its txCommit is the SHA-256 of the member intent in the form of RFC 8785.
func (e *Evaluation) Body() ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	about := map[string]any{"subject": e.Subject, "action": e.Action, "resource": e.Resource}
	members := map[string]any{"action": e.Action.Name, "metadata": map[string]any{"authzen": about}}
	if field := fields[e.Resource.Type]; field != "" {
		members[field] = e.Resource.ID
	}
	intent, err := json.Marshal(members)
	if err != nil {
		return nil, fmt.Errorf("properties can't be written as JSON: %w", err)
	}
	canonical := jsontext.Value(intent)
	if err := canonical.Canonicalize(); err != nil {
		return nil, fmt.Errorf("the evaluation has no canonical form: %w", err)
	}
	return jcs.Request(framework, e.Subject.ID, canonical), nil
}

// check returns what the evaluation lacks.
func (e *Evaluation) check() error {
	switch {
	case e.Subject == nil || e.Subject.Type == "" || e.Subject.ID == "":
		return errors.New("subject: needs type and id, which are texts that are not empty")
	case e.Action == nil || e.Action.Name == "":
		return errors.New("action: needs name, which is a text that is not empty")
	case e.Resource == nil || e.Resource.Type == "" || e.Resource.ID == "":
		return errors.New("resource: needs type and id, which are texts that are not empty")
	}
	for name, properties := range map[string]jsontext.Value{"subject": e.Subject.Properties, "action": e.Action.Properties, "resource": e.Resource.Properties} {
		if kind := properties.Kind(); len(properties) > 0 && kind != jsontext.KindBeginObject {
			return fmt.Errorf("%s.properties: is not an object", name)
		}
	}
	return nil
}
