package accounts

import (
	"context"
	"errors"
	"strings"

	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/runtime/strictjson"
	"bailiff/vm/errcode"
)

// Bounds of the texts of statements that come over the network. A longer one is refused before anything is verified.
const (
	maxActionText    = 16
	maxKeyIDText     = 64
	maxKeyText       = 64
	maxSignatureText = 128
)

// StateHalt carries out a halt that the service's operator has signed; anyone may send it (specification, halt.7).
func (a *Accounts) StateHalt(ctx context.Context, body []byte) (*HaltView, *service.Failure) {
	var request HaltRequest
	var serial int64
	fault := service.ReadBody(body,
		strictjson.Text("action", true, maxActionText, &request.Action),
		strictjson.Text("key_id", false, maxKeyIDText, &request.KeyID),
		strictjson.Text("reason", false, ledger.MaxHaltReason, &request.Reason),
		strictjson.Integer("serial", &serial),
		strictjson.Integer("signed_at", &request.SignedAt),
		strictjson.Text("operator_signature", true, maxSignatureText, &request.Signature),
	)
	if fault != nil {
		return nil, fault
	}
	request.Serial = uint64(max(serial, 0)) // 0 is refused by the ledger
	view, err := a.HaltFromAfar(ctx, request)
	if err != nil {
		return nil, a.statementFault(err)
	}
	return &view, nil
}

// StateRotation replaces the operator's key as its present key has signed; anyone may send that (specification, rotation.3).
func (a *Accounts) StateRotation(ctx context.Context, body []byte) (*OperatorView, *service.Failure) {
	var request RotationRequest
	var serial int64
	fault := service.ReadBody(body,
		strictjson.Text("from", true, maxKeyText, &request.From),
		strictjson.Text("to", true, maxKeyText, &request.To),
		strictjson.Integer("serial", &serial),
		strictjson.Integer("signed_at", &request.SignedAt),
		strictjson.Text("operator_signature", true, maxSignatureText, &request.Signature),
	)
	if fault != nil {
		return nil, fault
	}
	request.Serial = uint64(max(serial, 0))
	view, err := a.Rotate(ctx, request)
	if err != nil {
		return nil, a.statementFault(err)
	}
	return &view, nil
}

// statementFault says why a statement that came over the network came to nothing.
func (a *Accounts) statementFault(err error) *service.Failure {
	switch message := strings.TrimPrefix(service.Reason(err, ErrStatement), "ledger: "); {
	case errors.Is(err, ErrStatement), errors.Is(err, ledger.ErrOperator):
		return service.Fail(errcode.StatementInvalid, message)
	case errors.Is(err, ledger.ErrStatementSerial):
		return service.Fail(errcode.StatementUsed, message)
	case errors.Is(err, ledger.ErrInvalid), errors.Is(err, ledger.ErrTooMany):
		return service.Fail(errcode.ValidationSchema, message)
	case errors.Is(err, ledger.ErrNotFound), errors.Is(err, ledger.ErrKeyRevoked):
		return service.Fail(errcode.NotFound, "no API key that is good has this id")
	}
	return a.StoreFault("a statement of the operator could not be carried out", err)
}
