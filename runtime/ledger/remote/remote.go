// Package remote asks the ledger of another process. A question is a method of [Ledger] and its arguments, and goes there in one piece; what
// may have arrived is not sent again, so that without an answer it is unknown whether a record was kept.
//
// An answer rests on durable records, and on the other process owning its log when the question came, or later.
package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/fxamacker/cbor/v2"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

// A Call takes a question to another process and returns its answer. An error that wraps ledger.ErrUnavailable says that nothing was done.
type Call func(ctx context.Context, question []byte) (answer []byte, err error)

// An Owned is a ledger that this process owns.
type Owned interface {
	ledger.Ledger
	commit.Confirmer
}

// errDamaged says that a question can't be read. Nothing was done.
var errDamaged = fmt.Errorf("%w: a message between instances can't be read; they have to be of the same release, or of two that follow each other", ledger.ErrUnavailable)

// reading reads messages, which may list all keys of a slot, and have texts that the ledger refuses.
var reading = func() cbor.DecMode {
	mode, err := cbor.DecOptions{MaxArrayElements: 1 << 30, UTF8: cbor.UTF8DecodeInvalid}.DecMode()
	if err != nil {
		panic("remote: " + err.Error())
	}
	return mode
}()

// faults are the errors that are told from each other on the other side, by their places: new ones come at the end.
var faults = []error{
	ledger.ErrUnavailable, ledger.ErrClosed, ledger.ErrBusy, ledger.ErrUnknown, ledger.ErrInvalid, ledger.ErrNotFound, ledger.ErrKeyExists,
	ledger.ErrKeyRevoked, ledger.ErrHoldResolved, ledger.ErrOperator, ledger.ErrRollback, ledger.ErrStatementSerial, ledger.ErrSerial,
	ledger.ErrStorage, ledger.ErrNotNamed, ledger.ErrUsed, ledger.ErrExpired, ledger.ErrStale, ledger.ErrTooMany, ledger.ErrCorrupt,
	ledger.ErrHalted, ledger.ErrApprover, ledger.ErrApproved, ledger.ErrDefinition, ledger.ErrDropped,
}

// reads are the methods that change nothing.
var reads = map[string]bool{
	"Beginning": true, "Counter": true, "DeployedPolicy": true, "Deployments": true, "Events": true, "Groups": true, "Head": true, "Hold": true, "Holds": true, "Keys": true,
	"LookupKey": true, "LookupKeyID": true, "Path": true, "Peek": true, "Pin": true, "Pins": true, "Policy": true, "Replay": true, "Usage": true, "Webhooks": true,
}

// errUnread says that an answer can't be read.
var errUnread = errors.New("the answer of another instance can't be read")

// A fault is an error on its way, or says that there is none.
type fault struct {
	Done    bool // there is none
	Text    string
	Is      []int // of faults
	Serial  *ledger.SerialError
	Storage *ledger.StorageError
	Pin     *ledger.PinError
}

// newFault is an error on its way, nil for none.
func newFault(err error) *fault {
	if err == nil {
		return nil
	}
	f := &fault{Text: err.Error()}
	for i, one := range faults {
		if errors.Is(err, one) {
			f.Is = append(f.Is, i)
		}
	}
	errors.As(err, &f.Serial)
	errors.As(err, &f.Storage)
	errors.As(err, &f.Pin)
	return f
}

// Error implements error.
func (f *fault) Error() string { return f.Text }

// Unwrap returns the errors that it was.
func (f *fault) Unwrap() (all []error) {
	for _, i := range f.Is {
		if i >= 0 && i < len(faults) {
			all = append(all, faults[i])
		}
	}
	switch {
	case f.Serial != nil:
		all = append(all, f.Serial)
	case f.Storage != nil:
		all = append(all, f.Storage)
	case f.Pin != nil:
		all = append(all, f.Pin)
	}
	return all
}

// Answer answers a question with a ledger that this process owns.
func Answer(ctx context.Context, l Owned, question []byte) (answer []byte) {
	mark := l.Mark()
	name, results, err := carryOut(ctx, l, question)
	if !errors.Is(err, ledger.ErrUnknown) && !errors.Is(err, ledger.ErrUnavailable) { // a refusal rests on the log, too
		if lost := l.Confirm(mark); lost != nil && err == nil && !reads[name] {
			err = fmt.Errorf("%w: it was recorded, and the log may be another instance's since: %v", ledger.ErrUnknown, lost) //nolint:errorlint // it is not that nothing was recorded
		} else if lost != nil {
			err = lost
		}
	}
	var b bytes.Buffer
	to := cbor.NewEncoder(&b)
	f := newFault(err)
	if f == nil {
		f = &fault{Done: true}
	}
	if err := to.Encode(f); err != nil {
		return nil // an empty answer can't be read
	}
	if err != nil {
		results = nil
	}
	for _, result := range results {
		if err := to.Encode(result.Interface()); err != nil {
			return nil
		}
	}
	return b.Bytes()
}

// carryOut calls the method of a question.
func carryOut(ctx context.Context, l ledger.Ledger, question []byte) (name string, results []reflect.Value, err error) {
	from := reading.NewDecoder(bytes.NewReader(question))
	if from.Decode(&name) != nil {
		return "", nil, errDamaged
	}
	method := reflect.ValueOf(methods{l}).MethodByName(name)
	if _, asked := reflect.TypeFor[*Ledger]().MethodByName(name); !asked || !method.IsValid() {
		return name, nil, fmt.Errorf("%w: %.32q is no question", errDamaged, name)
	}
	arguments := []reflect.Value{reflect.ValueOf(ctx)}
	for i := 1; i < method.Type().NumIn(); i++ {
		argument := reflect.New(method.Type().In(i))
		if from.Decode(argument.Interface()) != nil || argument.Elem().Kind() == reflect.Pointer && argument.Elem().IsNil() {
			return name, nil, errDamaged
		}
		arguments = append(arguments, argument.Elem())
	}
	results = method.Call(arguments)
	last := len(results) - 1
	err, _ = results[last].Interface().(error)
	return name, results[:last], err
}

// A Ledger is a ledger of another process, as far as it is asked from here.
type Ledger struct{ call Call }

// New returns the ledger that answers calls.
func New(call Call) *Ledger { return &Ledger{call} }

// ask asks a question, and reads the results.
func (l *Ledger) ask(ctx context.Context, method string, results []any, arguments ...any) error {
	var b bytes.Buffer
	to := cbor.NewEncoder(&b)
	err := to.Encode(method)
	for _, argument := range arguments {
		err = errors.Join(err, to.Encode(argument))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ledger.ErrInvalid, err)
	}
	doubt := ledger.ErrUnknown
	if reads[method] {
		doubt = ledger.ErrUnavailable
	}
	answer, err := l.call(ctx, b.Bytes())
	switch {
	case errors.Is(err, ledger.ErrUnavailable) && !errors.Is(err, ledger.ErrUnknown):
		return err
	case err != nil:
		return fmt.Errorf("%w: %v", doubt, err) //nolint:errorlint // the doubt alone counts
	}
	from := reading.NewDecoder(bytes.NewReader(answer))
	var f fault
	if err := from.Decode(&f); err != nil || !f.Done && f.Text == "" {
		return fmt.Errorf("%w: %w", doubt, errUnread)
	}
	if !f.Done {
		return &f
	}
	for _, result := range results {
		if err := from.Decode(result); err != nil {
			return fmt.Errorf("%w: %w", doubt, errUnread)
		}
	}
	return nil
}
