package policies

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"bailiff/compiler"
	"bailiff/compiler/codes"
	"bailiff/compiler/lint"
	"bailiff/compiler/sections"
	"bailiff/grammar"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
	"bailiff/runtime/service"
	"bailiff/runtime/shims"
	"bailiff/runtime/strictjson"
	"bailiff/vm/errcode"
)

// MaxDeployBody is the largest body of a deployment, in bytes (decisions, section 3).
const MaxDeployBody = 400_000

// CompileTime is how long compiling a policy that is deployed takes at most.
const CompileTime = 500 * time.Millisecond

// DeployView is the answer to a deployment (decisions, section 5).
type DeployView struct {
	PolicyHash    string    `json:"policyHash"`
	PolicyVersion string    `json:"policyVersion"` // of the policy format
	DeployedAt    int64     `json:"deployedAt"`    // Unix seconds
	Warnings      []Warning `json:"warnings"`
}

// Warning is something that does not be in the way of a deployment.
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
func (a *Policies) Deploy(ctx context.Context, key *ledger.Key, body []byte) (*DeployView, *service.Failure) {
	if fault := a.Halted(key); fault != nil {
		return nil, fault
	}
	request, fault := readDeployment(body)
	if fault != nil {
		return nil, fault
	}
	if fault := a.verify(key, request); fault != nil {
		return nil, fault
	}
	done, fault := a.turnToDeploy(ctx, key)
	if fault != nil {
		return nil, fault
	}
	defer done()
	return a.deployInTurn(ctx, key, request)
}

// deployInTurn compiles and stores a policy that its operator has signed.
func (a *Policies) deployInTurn(ctx context.Context, key *ledger.Key, request *deployment) (*DeployView, *service.Failure) {
	now := a.Clock()
	policy, compiled, fault := a.accept(key, request, now)
	if fault != nil {
		return nil, fault
	}
	activation, fault := a.Shims.Activate(&shims.Deployment{
		Policy: compiled.Policy, PolicyHash: policy.Hash, OperatorKey: request.operatorText, Attestation: request.attestation,
		Audience: a.DeployURL, Now: now,
	})
	if fault != nil {
		return nil, fault
	}
	d := storable(key.ID, request, policy, now)
	d.Activation, d.RefuseRollback, d.MaxStored = activation, a.RefuseRollback, a.accounts.Storage(key)
	deployed, err := a.Ledger.Deploy(ctx, d)
	if err != nil {
		return nil, a.deployFault(err)
	}
	a.warnOfStorage(d, &deployed)
	warnings := warningsOf(request.src, policy.Warnings)
	a.keep(policy, now)
	if key.PolicyHash != policy.Digest {
		a.Programs.Forget(key.PolicyHash)
	}
	if deployed.Rollback {
		a.Log.Warn("a key went back to a policy that was replaced before, which SVC_REFUSE_ROLLBACK=false lets through; check that it is not an old copy", "key", key.ID.String(), "policyHash", policy.Hash)
		warnings = append(warnings, Warning{Code: string(errcode.WarrantyRollback), Message: "this policy was deployed before, and another one since: the deployment goes back to it"})
	}
	return &DeployView{PolicyHash: policy.Hash, PolicyVersion: policy.Version, DeployedAt: clock.Seconds(deployed.At), Warnings: warnings}, nil
}

func readDeployment(body []byte) (*deployment, *service.Failure) {
	if len(body) > MaxDeployBody {
		return nil, service.Fail(errcode.BodyTooLarge, fmt.Sprintf("the body is larger than %d bytes; send less", MaxDeployBody))
	}
	request, warranty := &deployment{}, ""
	fault := service.ReadBody(body,
		strictjson.Text("warranty_md", true, MaxDeployBody, &warranty),
		strictjson.Text("operator_public_key", true, MaxDeployBody, &request.operatorText),
		strictjson.Text("trusted_shim_attestation", false, MaxDeployBody, &request.attestation),
	)
	if fault != nil {
		return nil, fault
	}
	public, err := attest.ParseOperatorKey(request.operatorText)
	if err != nil {
		return nil, service.Fail(errcode.ValidationSchema, "operator_public_key: "+err.Error())
	}
	request.src, request.operator = grammar.NewSource("warranty.md", []byte(warranty)), [32]byte(public)
	return request, nil
}

// verify holds what can be said of a deployment without compiling: the frame of the signature block, the signature, the
// operator key that the API key is pinned to. So the service compiles texts of the operator alone.
func (a *Policies) verify(key *ledger.Key, request *deployment) *service.Failure {
	framed, found := grammar.Split(request.src)
	switch {
	case found.HasErrors():
		return invalidPolicy(frameCode(found), request.src, found.Sorted())
	case !framed.Signed:
		return service.Fail(errcode.WarrantySignature, errUnsigned.Error()+"; sign it with `bailiff sign`")
	case attest.VerifyPolicy(request.operator[:], framed.Body, framed.Signature) != nil:
		return service.Fail(errcode.WarrantySignature, ErrSignature.Error())
	case !a.accounts.MayOperate(key, request.operator):
		return operatorMismatch()
	}
	return nil
}

// accept compiles a policy, and holds what its text says of where and when it may be in force.
func (a *Policies) accept(key *ledger.Key, request *deployment, now time.Time) (*Policy, *compiler.Compiled, *service.Failure) {
	policy, compiled, fault := a.compile(key, request.src)
	if fault != nil {
		return nil, nil, fault
	}
	if !policy.isFor(key.ID) {
		return nil, nil, service.Fail(errcode.WarrantyNotNamed, fmt.Sprintf("the policy is for other API keys: `keys` in its `## deployment` does not include %s; "+
			"add it and sign the policy again, or deploy with an API key that it names", key.ID))
	}
	if until := compiled.Policy.MCP.ObserveUntil(); until.After(now.Add(sections.MaxObserve)) {
		return nil, nil, invalidPolicy(errcode.WarrantyInvalid, request.src, grammar.Diagnostics{tooLate(compiled.Policy)})
	}
	return policy, compiled, nil
}

// maxDeployers is how many keys can be counted that have deployed lately.
const maxDeployers = 1 << 16

// turnToDeploy waits for the turn to compile and store a policy: one at a time of a key, and few in all. It lasts until the
// policy is stored, for it is in memory until then.
func (a *Policies) turnToDeploy(ctx context.Context, key *ledger.Key) (done func(), fault *service.Failure) {
	waiting, cancel := a.Timeout(ctx, 4*CompileTime)
	defer cancel()
	done, ok := a.Compiles.Take(waiting, key.ID)
	if !ok {
		return nil, service.Retryable(errcode.WarrantyBusy, "another policy of this key is being deployed, or too many of others; nothing was deployed, so deploy again", service.ComeAgain)
	}
	return done, nil
}

// compile compiles a policy that is to be deployed: no longer than compileTime, and no more often than the limit of deployments says.
// What is refused in the end has cost the same, and counts.
func (a *Policies) compile(key *ledger.Key, src *grammar.Source) (*Policy, *compiler.Compiled, *service.Failure) {
	if fault := a.countDeployment(key); fault != nil {
		return nil, nil, fault
	}
	until := a.Clock().Add(CompileTime)
	policy, compiled, err := compilePolicy(src, func(src *grammar.Source) (*compiler.Compiled, grammar.Diagnostics) {
		return lint.CompileWithin(src, func() bool { return a.Clock().After(until) })
	})
	var invalid *InvalidPolicy
	switch {
	case errors.As(err, &invalid):
		return nil, nil, invalidPolicy(weightCode(invalid.Diagnostics), src, invalid.Diagnostics)
	case err != nil:
		a.Log.Error("a policy compiles and can't be used", "error", err)
		return nil, nil, service.Fail(errcode.Internal, "the policy can't be used; nothing was deployed")
	case !a.Programs.hasRoom(policy):
		return nil, nil, service.Retryable(errcode.WarrantyBusy, fmt.Sprintf("requests still use %d MiB of programs that were replaced, and this one is large; nothing was deployed, so deploy again", MaxLingering>>20), service.ComeAgain)
	}
	return policy, compiled, nil
}

// countDeployment counts a policy that is about to be compiled, or refuses it. At 80 % of what a key may have the log says so.
func (a *Policies) countDeployment(key *ledger.Key) *service.Failure {
	w := *a.limit.Load()
	result, err := a.deployed.Take(key.ID.String(), w, a.Clock())
	switch {
	case err != nil:
		a.Trouble("a deployment could not be counted", err)
		return service.Fail(errcode.LimitStoreUnavailable, "the number of deployments can't be counted, so none is let through; ask again later")
	case !result.Allowed:
		a.Metrics.Beyond(metrics.Deployments)
		return service.Retryable(errcode.WarrantyRate, fmt.Sprintf("the key has had %d policies compiled in %.0f seconds, as many as it may, refused ones included; deploy again in %.0f seconds, and try policies with `bailiff check` before", w.Limit, w.Per.Seconds(), result.Reset.Seconds()), result.Reset)
	case w.Limit > 0 && result.Remaining == w.Limit/5: // the log has one line about it, not one for each
		a.Log.Warn("a key has used at least 80 % of its deployments", "key", key.ID.String(), "limit", w.Limit, "per", w.Per.String())
	}
	return nil
}

// weightCode is the error code for the errors of a policy: one of its own where it weighs too much or takes too long.
func weightCode(found grammar.Diagnostics) errcode.Code {
	for _, d := range found {
		switch d.Code {
		case codes.CompileTime:
			return errcode.WarrantyTime
		case codes.Memory, codes.Effort, codes.TooLarge:
			return errcode.WarrantyHeavy
		}
	}
	return errcode.WarrantyInvalid
}

func operatorMismatch() *service.Failure {
	return service.Fail(errcode.WarrantyOperator, "the API key is pinned to another operator public key; deploy with that one, or use another API key")
}

// signatureCodes are the findings about a signature block.
var signatureCodes = []grammar.Code{
	grammar.CodeSecondSigHead, grammar.CodeOtherSigHead, grammar.CodeNoSignature, grammar.CodeBadSignature, grammar.CodeAfterSignature,
}

// frameCode is the error code for what is wrong around the signature block.
func frameCode(found grammar.Diagnostics) errcode.Code {
	for _, d := range found {
		if d.Severity == grammar.Error && !slices.Contains(signatureCodes, d.Code) {
			return errcode.WarrantyInvalid
		}
	}
	return errcode.WarrantySignature
}

// tooLate is the finding about an observing that would last too long.
func tooLate(policy *compiler.Policy) grammar.Diagnostic {
	days := int(sections.MaxObserve / (24 * time.Hour))
	return grammar.At(codes.Time, policy.MCP.Response.ObserveUntil.Span,
		"`response.observe_until` is more than %d days ahead", days).WithHint("name an earlier time, and deploy again before it comes")
}

func invalidPolicy(c errcode.Code, src *grammar.Source, found grammar.Diagnostics) *service.Failure {
	fault := service.Fail(c, (&InvalidPolicy{src, found}).Error())
	if len(found) > 0 {
		fault.Message += fmt.Sprintf("; the first finding: %s", grammar.Visible(found[0].Message))
	}
	fault.Diagnostics, _ = json.Marshal(src.Reports(found)) // texts and numbers: nothing that can fail
	return fault
}

// storable is the deployment as the ledger takes it. A program that would be too large is compiled again when it is needed.
func storable(key ledger.ID, request *deployment, policy *Policy, now time.Time) *ledger.Deployment {
	program, _ := policy.Program.MarshalBinary() // never fails
	if len(program) > ledger.MaxProgram {
		program = nil
	}
	return &ledger.Deployment{
		Key: key, At: now.UnixNano(), Operator: request.operator, PolicyHash: policy.Digest, PolicyVersion: policy.Version,
		Text: request.src.Text, Program: program, Machine: programVersion,
		Named: policy.named, Serial: policy.serial,
	}
}

// deployFault is the failure of a deployment that the ledger refused.
func (a *Policies) deployFault(err error) *service.Failure {
	if fault := activationFault(err); fault != nil {
		return fault
	}
	var serial *ledger.SerialError
	var storage *ledger.StorageError
	switch {
	case errors.As(err, &storage):
		a.Metrics.Beyond(metrics.Storage)
		return service.Fail(errcode.WarrantyStorage, fullStorage(storage))
	case errors.Is(err, ledger.ErrOperator):
		return operatorMismatch()
	case errors.Is(err, ledger.ErrNotNamed):
		return service.Fail(errcode.WarrantyNotNamed, "a policy before named this API key, so that it takes only policies that do; "+
			"write its id, or `*`, behind `keys` in `## deployment`, and sign the policy again")
	case errors.As(err, &serial):
		return service.Fail(errcode.WarrantyRollback, lowSerial(serial))
	case errors.Is(err, ledger.ErrRollback):
		return service.Fail(errcode.WarrantyRollback, "this policy governed the API key before and was replaced since, so that it may be an old copy; "+
			"to have it back change a byte of it, such as a comment, and sign it again")
	}
	return a.StoreFault("a policy could not be deployed", err)
}

// fullStorage says why a policy is refused by its size.
func fullStorage(e *ledger.StorageError) string {
	return fmt.Sprintf("this policy and its program take %d bytes, and those deployed before take %d of the %d bytes that the key's plan includes; "+
		"they are kept for ever, so have the plan changed to deploy it", e.Size, e.Stored, e.Most)
}

// warnOfStorage logs that a deployment has its key keep 80 % of what it may.
func (a *Policies) warnOfStorage(d *ledger.Deployment, done *ledger.Deployed) {
	line := d.MaxStored / 5 * 4
	if d.MaxStored != 0 && done.Stored >= line && done.Stored-d.Size() < line {
		a.Log.Warn("a key's policies take 80 % of the storage that its plan includes", "key", d.Key.String(), "stored", done.Stored, "limit", d.MaxStored)
	}
}

// lowSerial says why a policy is refused by its serial.
func lowSerial(e *ledger.SerialError) string {
	found := fmt.Sprintf("the policy's serial is %d", e.Serial)
	if e.Serial == 0 {
		found = "the policy has no serial"
	}
	return fmt.Sprintf("%s, and one with serial %d was in force before; write `serial: %d` or higher into its `## deployment`, and sign it again", found, e.Latest, e.Latest+1)
}

// keep has a policy that was deployed ready for the first request.
func (a *Policies) keep(policy *Policy, now time.Time) {
	policy.Warnings = nil
	_, _ = a.Programs.Get(policy.Digest, now.UnixNano(), func() (*Policy, error) { return policy, nil })
}

func warningsOf(src *grammar.Source, found grammar.Diagnostics) []Warning {
	warnings := []Warning{}
	for _, r := range src.Reports(found) {
		warnings = append(warnings, Warning{Code: string(r.Code), Message: r.Message, Line: r.Line, Column: r.Column, Hint: r.Hint})
	}
	return warnings
}

// activationFault is the failure of an activation that the ledger refused.
func activationFault(err error) *service.Failure {
	switch {
	case errors.Is(err, ledger.ErrUsed):
		return service.Fail(errcode.ShimReplayed, "the activation (jti) was used before; ask the shim for another")
	case errors.Is(err, ledger.ErrExpired):
		return service.Fail(errcode.ShimExpired, "the activation has expired; ask the shim for another")
	}
	return nil
}
