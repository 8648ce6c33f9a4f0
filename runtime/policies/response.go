package policies

import (
	"context"
	"errors"
	"sync"
	"time"

	"bailiff/compiler"
	"bailiff/compiler/frame"
	"bailiff/compiler/sections"
	"bailiff/grammar"
	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/response"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

const (
	// ResponseFresh is how long one signed document is handed out, so that a flood of requests signs nothing.
	ResponseFresh = 30 * time.Second
	// MaxResponses is how many bytes of documents and rules are kept.
	MaxResponses = 16 << 20
)

// ResponsePolicyView is the answer of GET /v1/response-policy.
type ResponsePolicyView struct {
	ResponsePolicy string `json:"responsePolicy"` // a compact JWT, see attest.IssueResponsePolicy
	PolicyHash     string `json:"policyHash"`
}

// Responses keeps the documents that were signed last, by API key.
type Responses struct {
	mu    sync.Mutex
	Kept  map[ledger.ID]*SignedRules
	Bytes int
}

// SignedRules are the rules of a key's policy, and the document that has them.
type SignedRules struct {
	epoch uint64
	hash  string
	rules []byte
	Token string
	at    time.Time // when it was signed
}

// Size returns the bytes that the rules take in memory.
func (s *SignedRules) Size() int { return len(s.rules) + len(s.Token) + 256 }

// get returns what is kept for a key as it is, and whether its document is fresh.
func (r *Responses) get(key *ledger.Key, hash string, now time.Time) (kept *SignedRules, fresh bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.Kept[key.ID]
	if s == nil || s.epoch != key.Epoch || s.hash != hash {
		return nil, false
	}
	age := now.Sub(s.at)
	return s, age >= 0 && age < ResponseFresh
}

// Put keeps a document. Where there is no room everything else is forgotten, and signed again when it is asked for.
func (r *Responses) Put(key ledger.ID, s *SignedRules) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.Kept[key]; old != nil {
		r.Bytes -= old.Size()
		delete(r.Kept, key)
	}
	if r.Kept == nil || r.Bytes+s.Size() > MaxResponses {
		r.Kept, r.Bytes = map[ledger.ID]*SignedRules{}, 0
	}
	r.Kept[key] = s
	r.Bytes += s.Size()
}

// ResponsePolicy returns the response rules of the policy in force for a key, signed for that key.
func (a *Policies) ResponsePolicy(ctx context.Context, key *ledger.Key) (*ResponsePolicyView, *service.Failure) {
	now := a.Clock()
	if fault := a.ClockFault(); fault != nil {
		return nil, fault
	}
	for range MaxAttempts {
		policy, fault, again := a.Of(ctx, key, now.UnixNano())
		if fault != nil {
			return nil, fault
		}
		if !again {
			view, fault := a.signedRules(ctx, key, policy, now)
			if view != nil || fault != nil {
				return view, fault
			}
		}
		if key, fault = a.accounts.Refresh(key); fault != nil {
			return nil, fault
		}
	}
	return nil, service.Unavailable()
}

// signedRules returns the document of a key and its policy, neither it nor a failure where the key has moved on meanwhile.
func (a *Policies) signedRules(ctx context.Context, key *ledger.Key, policy *Policy, now time.Time) (*ResponsePolicyView, *service.Failure) {
	if kept, fresh := a.Responses.get(key, policy.Hash, now); fresh {
		return &ResponsePolicyView{kept.Token, kept.hash}, nil
	}
	done, ok := a.loads.Take(ctx, key.ID)
	if !ok {
		return nil, service.Retryable(errcode.EvaluationBusy, "too many response policies are being made; ask again", service.ComeAgain)
	}
	defer done()
	kept, fresh := a.Responses.get(key, policy.Hash, now)
	if fresh {
		return &ResponsePolicyView{kept.Token, kept.hash}, nil
	}
	made := &SignedRules{epoch: key.Epoch, hash: policy.Hash, at: now, rules: policy.Response}
	var err error
	if kept != nil {
		made.rules = kept.rules
	} else if made.rules == nil {
		made.rules, err = a.storedRules(ctx, key)
	}
	if err == nil {
		made.Token, err = a.Signer.IssueResponsePolicy(&attest.ResponsePolicy{
			KeyID: key.ID.String(), Epoch: key.Epoch, IssuedAt: now.Unix(), Issuer: a.Issuer, PolicyHash: policy.Hash, Rules: made.rules,
		})
	}
	switch {
	case errors.Is(err, errMoved):
		return nil, nil
	case err != nil:
		a.Log.Error("the response rules of a policy could not be signed", "key", key.ID.String(), "policyHash", policy.Hash, "error", err)
		return nil, service.Fail(errcode.StoreUnavailable, "the response rules of the policy could not be read or signed, so none are given; ask again later")
	}
	a.Responses.Put(key.ID, made)
	return &ResponsePolicyView{made.Token, made.hash}, nil
}

// storedRules reads the rules from the text of a key's policy, whose program alone is loaded.
func (a *Policies) storedRules(ctx context.Context, key *ledger.Key) ([]byte, error) {
	stored, err := a.Ledger.Policy(ctx, key.ID)
	if err != nil {
		return nil, err
	}
	if stored.PolicyHash != key.PolicyHash {
		return nil, errMoved
	}
	compiled, found := compiler.CompileInForce(grammar.NewSource("warranty.md", stored.Text))
	if found.HasErrors() {
		return nil, errors.New("the stored text does not compile")
	}
	return EncodeRules(compiled.Policy)
}

// EncodeRules returns the response rules of a policy in the form that is signed.
func EncodeRules(policy *compiler.Policy) ([]byte, error) {
	rules := response.Rules{Version: response.Version}
	if policy.Custom != nil && policy.Custom.ResponseDeny != nil {
		rules.DenyString = policy.Custom.ResponseDeny.Text
	}
	if policy.MCP != nil {
		r := &policy.MCP.Response
		rules.WebFetchTools, rules.HTTPTools = textsOf(r.WebFetchTools), textsOf(r.HTTPTools)
		rules.Block, rules.Redact, rules.Observe = classesOf(r.BlockClasses), classesOf(r.RedactClasses), classesOf(r.ObserveClasses)
		if r.Ruleset != nil {
			rules.Ruleset = r.Ruleset.Text
		}
		if r.ObserveUntil != nil {
			rules.ObserveUntil = r.ObserveUntil.Time.Unix()
		}
		rules.Scanner = scannerOf(&r.Scanner)
	}
	return rules.Encode()
}

// scannerOf returns the scanner of a policy, nil where it says nothing of one.
func scannerOf(s *sections.Scanner) *response.Scanner {
	if s.Required == nil && s.Profile == nil && s.Classes == nil && s.Confidence == nil {
		return nil
	}
	scanner := &response.Scanner{Classes: classesOf(s.Classes), Required: s.Required != nil && s.Required.On}
	if s.Profile != nil {
		scanner.Profile = s.Profile.Text
	}
	if s.Confidence != nil {
		scanner.MinConfidence = s.Confidence.Amount.Format(s.Confidence.Decimals)
	}
	return scanner
}

func classesOf(list *frame.List) []response.Class {
	var classes []response.Class
	for _, text := range textsOf(list) {
		classes = append(classes, response.Class(text))
	}
	return classes
}

func textsOf(list *frame.List) []string {
	if list == nil {
		return nil
	}
	texts := make([]string, len(list.Items))
	for i, item := range list.Items {
		texts[i] = item.Text
	}
	return texts
}
