package authority

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"bailiff/compiler"
	"bailiff/grammar"
	"bailiff/runtime/attest"
	"bailiff/runtime/code"
	"bailiff/runtime/ledger"
)

// MaxDeployBody is the largest body of a deployment, in bytes (decisions, section 3).
const MaxDeployBody = 400_000

// DeployView is the answer to a deployment (decisions, section 5).
type DeployView struct {
	PolicyHash    string    `json:"policyHash"`
	PolicyVersion string    `json:"policyVersion"` // of the policy format
	DeployedAt    int64     `json:"deployedAt"`    // Unix seconds
	Warnings      []Warning `json:"warnings"`
}

// Warning is something that does not stand in the way of a deployment.
type Warning struct {
	Code    string `json:"code"` // of a diagnostic, or an error code of the API
	Message string `json:"message"`
	Line    int    `json:"line,omitempty"` // of the policy, from 1
	Column  int    `json:"column,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// deployment is the body of a deployment.
type deployment struct {
	src          *grammar.Source
	operatorText string
	operator     [32]byte
	attestation  string
}

// Deploy binds a signed policy to a key, at once and as a whole: every request is judged either by the policy before or
// by this one. Nothing is written before all is found good.
func (a *Authority) Deploy(ctx context.Context, key *ledger.Key, body []byte) (*DeployView, *Failure) {
	request, fault := readDeployment(body)
	if fault != nil {
		return nil, fault
	}
	now := a.Clock()
	policy, compiled, fault := a.accept(key, request, now)
	if fault != nil {
		return nil, fault
	}
	activation, fault := a.activate(compiled.Policy, policy.Hash, request, now)
	if fault != nil {
		return nil, fault
	}
	deployed, err := a.Ledger.Deploy(ctx, storable(key.ID, request, policy, now, activation, a.RefuseRollback))
	if err != nil {
		return nil, a.deployFault(err)
	}
	warnings := warningsOf(request.src, policy.Warnings)
	a.keep(policy, now)
	if deployed.Rollback {
		warnings = append(warnings, Warning{Code: string(code.WarrantyRollback), Message: "this policy was deployed before, and another one since: the deployment goes back to it"})
	}
	return &DeployView{PolicyHash: policy.Hash, PolicyVersion: policy.Version, DeployedAt: seconds(deployed.At), Warnings: warnings}, nil
}

func readDeployment(body []byte) (*deployment, *Failure) {
	if len(body) > MaxDeployBody {
		return nil, failure(code.BodyTooLarge, fmt.Sprintf("the body is larger than %d bytes; send less", MaxDeployBody))
	}
	request, warranty := &deployment{}, ""
	fault := readBody(body,
		text("warranty_md", true, MaxDeployBody, &warranty),
		text("operator_public_key", true, MaxDeployBody, &request.operatorText),
		text("trusted_shim_attestation", false, MaxDeployBody, &request.attestation),
	)
	if fault != nil {
		return nil, fault
	}
	public, err := attest.ParseOperatorKey(request.operatorText)
	if err != nil {
		return nil, failure(code.ValidationSchema, "operator_public_key: "+err.Error())
	}
	request.src, request.operator = grammar.NewSource("warranty.md", []byte(warranty)), [32]byte(public)
	return request, nil
}

// accept verifies and compiles a policy: the frame of the signature block, the signature, the operator key that the API
// key is pinned to, the text. So nobody but the operator has the service compile anything.
func (a *Authority) accept(key *ledger.Key, request *deployment, now time.Time) (*Policy, *compiler.Compiled, *Failure) {
	framed, found := grammar.Split(request.src)
	switch {
	case found.HasErrors():
		return nil, nil, invalidPolicy(frameCode(found), request.src, found.Sorted())
	case !framed.Signed:
		return nil, nil, failure(code.WarrantySignature, ErrUnsigned.Error()+"; sign it with `bailiff sign`")
	case attest.VerifyPolicy(request.operator[:], framed.Body, framed.Signature) != nil:
		return nil, nil, failure(code.WarrantySignature, ErrSignature.Error())
	case !a.mayOperate(key, request.operator):
		return nil, nil, operatorMismatch()
	}
	policy, compiled, err := compilePolicy(request.src)
	var invalid *InvalidPolicy
	switch {
	case errors.As(err, &invalid):
		return nil, nil, invalidPolicy(code.WarrantyInvalid, request.src, invalid.Diagnostics)
	case err != nil:
		a.Log.Error("a policy compiles and can't be used", "error", err)
		return nil, nil, failure(code.Internal, "the policy can't be used; nothing was deployed")
	}
	if until := compiled.Policy.ObserveUntil(); until.After(now.Add(compiler.MaxObserve)) {
		return nil, nil, invalidPolicy(code.WarrantyInvalid, request.src, grammar.Diagnostics{tooLate(compiled.Policy)})
	}
	return policy, compiled, nil
}

// mayOperate reports whether an operator key may speak for an API key: the one that it is pinned to; without a pin, the
// service's own or, where the service is hosted, any.
func (a *Authority) mayOperate(key *ledger.Key, operator [32]byte) bool {
	pinned, open := a.operatorOf(key)
	return open || pinned == operator
}

// operatorOf returns the operator key that an API key is pinned to; open says that the first deployment will pin one. It
// is zero, and nobody's, where a self-hosted service has none.
func (a *Authority) operatorOf(key *ledger.Key) (operator [32]byte, open bool) {
	if key.Operator != [32]byte{} {
		return key.Operator, false
	}
	return a.Operator, a.Hosted
}

func operatorMismatch() *Failure {
	return failure(code.WarrantyOperator, "the API key is pinned to another operator public key; deploy with that one, or use another API key")
}

// signatureCodes are the findings about a signature block.
var signatureCodes = []grammar.Code{
	grammar.CodeSecondSigHead, grammar.CodeOtherSigHead, grammar.CodeNoSignature, grammar.CodeBadSignature, grammar.CodeAfterSignature,
}

// frameCode is the error code for what is wrong around the signature block.
func frameCode(found grammar.Diagnostics) code.Code {
	for _, d := range found {
		if d.Severity == grammar.Error && !slices.Contains(signatureCodes, d.Code) {
			return code.WarrantyInvalid
		}
	}
	return code.WarrantySignature
}

// tooLate is the finding about an observing that would last too long.
func tooLate(policy *compiler.Policy) grammar.Diagnostic {
	days := int(compiler.MaxObserve / (24 * time.Hour))
	return grammar.At(compiler.CodeTime, policy.MCP.Response.ObserveUntil.Span,
		"`response.observe_until` is more than %d days ahead", days).WithHint("name an earlier time, and deploy again before it comes")
}

func invalidPolicy(c code.Code, src *grammar.Source, found grammar.Diagnostics) *Failure {
	fault := failure(c, (&InvalidPolicy{src, found}).Error())
	if len(found) > 0 {
		fault.Message += fmt.Sprintf("; the first finding: %s", grammar.Visible(found[0].Message))
	}
	fault.Diagnostics, _ = json.Marshal(src.Reports(found)) // texts and numbers: nothing that can fail
	return fault
}

// storable is the deployment as the ledger takes it. A program that would be too large is compiled again when it is needed.
func storable(key ledger.ID, request *deployment, policy *Policy, now time.Time, activation *ledger.Activation, refuse bool) *ledger.Deployment {
	program, _ := policy.program.MarshalBinary() // never fails
	if len(program) > ledger.MaxProgram {
		program = nil
	}
	return &ledger.Deployment{
		Key: key, At: now.UnixNano(), Operator: request.operator, PolicyHash: policy.digest, PolicyVersion: policy.Version,
		Text: request.src.Text, Program: program, Machine: programVersion, Activation: activation, RefuseRollback: refuse,
	}
}

// deployFault is the failure of a deployment that the ledger refused.
func (a *Authority) deployFault(err error) *Failure {
	if fault := activationFault(err); fault != nil {
		return fault
	}
	switch {
	case errors.Is(err, ledger.ErrOperator):
		return operatorMismatch()
	case errors.Is(err, ledger.ErrRollback):
		return failure(code.WarrantyRollback, "the policy was deployed before and replaced since, and this service does not go back")
	}
	return a.storeFault("a policy could not be deployed", err)
}

// storeFault is the failure of a step that the ledger did not carry out.
func (a *Authority) storeFault(what string, err error) *Failure {
	if errors.Is(err, ledger.ErrNotFound) || errors.Is(err, ledger.ErrKeyRevoked) {
		return badKey() // the key was revoked meanwhile
	}
	a.Log.Error(what, "error", err)
	if errors.Is(err, ledger.ErrInvalid) {
		return failure(code.Internal, "the service failed; nothing was recorded")
	}
	if errors.Is(err, ledger.ErrUnknown) {
		return failure(code.StoreUnavailable, "the store failed, and it is unknown whether this was recorded; look, and ask again later")
	}
	return failure(code.StoreUnavailable, "the store failed, and nothing was recorded; ask again later")
}

// keep has a policy that was deployed ready for the first request.
func (a *Authority) keep(policy *Policy, now time.Time) {
	policy.Warnings = nil
	_, _ = a.policies.get(policy.digest, now.UnixNano(), func() (*Policy, error) { return policy, nil })
}

func warningsOf(src *grammar.Source, found grammar.Diagnostics) []Warning {
	warnings := []Warning{}
	for _, r := range src.Reports(found) {
		warnings = append(warnings, Warning{Code: string(r.Code), Message: r.Message, Line: r.Line, Column: r.Column, Hint: r.Hint})
	}
	return warnings
}

// A DeploymentView is a line of a key's log of deployments.
type DeploymentView struct {
	PolicyHash string    `json:"policyHash"`
	DeployedAt time.Time `json:"deployedAt"`
	LSN        uint64    `json:"lsn"`
	Rollback   bool      `json:"rollback"`
}

// Deployments lists the deployments of the key of an id, oldest first. An error that wraps ledger.ErrNotFound says that
// there is no such key.
func (a *Admin) Deployments(ctx context.Context, id string) ([]DeploymentView, error) {
	key, err := ledger.ParseID(id)
	if err != nil {
		return nil, err
	}
	log, err := a.Ledger.Deployments(ctx, key)
	if err != nil {
		return nil, err
	}
	if _, found := a.Ledger.LookupKeyID(key); !found {
		return nil, fmt.Errorf("%w: no key has the id %s", ledger.ErrNotFound, key)
	}
	views := []DeploymentView{}
	for i := range log {
		views = append(views, DeploymentView{hex.EncodeToString(log[i].PolicyHash[:]), moment(log[i].At), log[i].LSN, log[i].Rollback})
	}
	return views, nil
}
