package policies

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"bailiff/grammar"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// A Mirror asks the production service for a key.
type Mirror interface {
	// Fetch returns the record of the key whose secret has the SHA-256 hash. The error wraps ErrNotMirrored where there
	// is no such key, or none that is good.
	Fetch(ctx context.Context, hash [32]byte) (*MirrorRecord, error)
}

// ErrNotMirrored says that production has no good key of that hash.
var ErrNotMirrored = errors.New("the production service has no such key")

// A MirrorRecord is what the test environment takes over of a key (specification, test-environment.1). The secret is
// not in it, and what the key has been used for stays where it is.
type MirrorRecord struct {
	KeyID        string   `json:"key_id"`
	Email        string   `json:"email"`
	Organization string   `json:"organization,omitempty"`
	Plan         string   `json:"plan"`
	Scopes       []string `json:"scopes"`
	Shim         bool     `json:"shim"`
	Operator     string   `json:"operator_public_key,omitempty"` // unpadded base64url; empty while none is pinned
	WarrantyMD   []byte   `json:"warranty_md,omitempty"`         // the deployed policy, as signed; base64 in JSON
}

const (
	// mirrorTimeout bounds how long a request waits for the production service.
	mirrorTimeout = 5 * time.Second
	// MissingFor is how long a key that production does not have is not asked for again.
	MissingFor = 30 * time.Second
	// MaxMissing bounds how many of those are remembered, because clients choose them.
	MaxMissing = 4096
	// MaxLookups bounds how many keys are being asked for at once. Beyond, requests are told to come again.
	MaxLookups = 16
)

// mirrored is what the test environment knows of its questions to production.
type mirrored struct {
	mu      sync.Mutex
	asking  map[[32]byte]*lookup
	Missing map[[32]byte]int64 // until when, Unix nanoseconds
}

// lookup is a question under way. Other requests for the same key wait for its answer.
type lookup struct {
	done  chan struct{}
	fault *service.Failure
}

// Sync takes a key over from production, once for all that ask at the same time; known is the key as far as it is
// here. It returns the key as it is then: nil where production has none either.
func (a *Policies) Sync(hash [32]byte, known *ledger.Key) (*ledger.Key, *service.Failure) {
	question, mine, fault := a.Mirrored.ask(hash, a.Clock().UnixNano())
	switch {
	case fault != nil:
		return nil, fault
	case question == nil:
		return known, nil
	case mine:
		a.answerLookup(hash, question)
	}
	<-question.done
	if question.fault != nil {
		return nil, question.fault
	}
	key, _ := a.Ledger.LookupKey(hash)
	return key, nil
}

// ask returns the question for a key, nil where the answer is known to be no; mine says that the caller has to answer it.
func (m *mirrored) ask(hash [32]byte, now int64) (question *lookup, mine bool, fault *service.Failure) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if until, missing := m.Missing[hash]; missing && now < until {
		return nil, false, nil
	}
	if question := m.asking[hash]; question != nil {
		return question, false, nil
	}
	if len(m.asking) >= MaxLookups {
		return nil, false, service.Fail(errcode.StoreUnavailable, "too many keys are being looked up in the production service; ask again")
	}
	if m.asking == nil {
		m.asking = map[[32]byte]*lookup{}
	}
	question = &lookup{done: make(chan struct{}), fault: service.Unavailable()}
	m.asking[hash] = question
	return question, true, nil
}

// answerLookup asks production and tells everybody who waits.
func (a *Policies) answerLookup(hash [32]byte, question *lookup) {
	found := true
	defer func() {
		a.Mirrored.settle(hash, found, a.Clock().UnixNano())
		close(question.done)
	}()
	ctx, cancel := a.Timeout(context.Background(), mirrorTimeout)
	defer cancel()
	record, err := a.Mirror.Fetch(ctx, hash)
	if err == nil {
		err = a.takeOver(ctx, hash, record)
	}
	switch {
	case errors.Is(err, ErrNotMirrored):
		found, question.fault = false, nil
	case err != nil:
		a.Trouble("a key could not be mirrored from the production service", err)
		question.fault = service.Fail(errcode.StoreUnavailable, "the key could not be looked up in the production service; ask again later")
	default:
		question.fault = nil
	}
}

// settle ends a question, and remembers what production does not have.
func (m *mirrored) settle(hash [32]byte, found bool, now int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.asking, hash)
	if found {
		delete(m.Missing, hash)
		return
	}
	if m.Missing == nil {
		m.Missing = map[[32]byte]int64{}
	}
	if len(m.Missing) >= MaxMissing {
		m.forget(now)
	}
	m.Missing[hash] = now + int64(MissingFor)
}

// forget makes room: what has lapsed goes, or else any one.
func (m *mirrored) forget(now int64) {
	for hash, until := range m.Missing {
		if until <= now {
			delete(m.Missing, hash)
		}
	}
	for hash := range m.Missing {
		if len(m.Missing) < MaxMissing {
			return
		}
		delete(m.Missing, hash)
	}
}

// takeOver creates the key of a record here, pinned as it is there, and deploys its policy. From then on nothing of
// production is looked at.
func (a *Policies) takeOver(ctx context.Context, hash [32]byte, record *MirrorRecord) error {
	key, deployment, err := a.readMirror(hash, record)
	if err != nil {
		return err
	}
	if err := a.Ledger.CreateKey(ctx, key); err != nil && !errors.Is(err, ledger.ErrKeyExists) {
		return err
	}
	if here, found := a.Ledger.LookupKey(hash); !found || here.ID != key.ID {
		return fmt.Errorf("another key has the id %s", key.ID)
	} else if deployment == nil || here.PolicyHash != [32]byte{} {
		return nil
	}
	_, err = a.Ledger.Deploy(ctx, deployment)
	return err
}

// readMirror checks a record as if anybody had sent it: the policy must be signed by the pinned operator and compile.
func (a *Policies) readMirror(hash [32]byte, record *MirrorRecord) (ledger.Key, *ledger.Deployment, error) {
	now := a.Clock()
	key := ledger.Key{
		Hash: hash, Email: record.Email, Organization: record.Organization, Environment: a.Environment, Tier: record.Plan,
		Shim: record.Shim, Created: now.UnixNano(),
	}
	var err error
	if key.ID, err = ledger.ParseID(record.KeyID); err != nil {
		return key, nil, err
	}
	if key.Scopes, err = accounts.ScopesNamed(record.Scopes); err != nil {
		return key, nil, err
	}
	if record.Operator == "" && record.WarrantyMD == nil {
		return key, nil, nil
	}
	public, err := attest.ParseOperatorKey(record.Operator)
	if err != nil {
		return key, nil, err
	}
	key.Operator = [32]byte(public)
	request := &deployment{src: grammar.NewSource("warranty.md", record.WarrantyMD), operator: key.Operator}
	policy, err := LoadPolicy(request.src, public)
	if err != nil {
		return key, nil, fmt.Errorf("the policy of key %s: %w", key.ID, err)
	}
	taken := storable(key.ID, request, policy, now)
	taken.Mirrored = true
	return key, taken, nil
}

// MirrorRecord returns the record of a good key for the test environment. A key that is unknown, revoked or of another
// environment is a 404.
func (a *Policies) MirrorRecord(ctx context.Context, hash [32]byte) (*MirrorRecord, *service.Failure) {
	key, found := a.Ledger.LookupKey(hash)
	if !found || key.Revoked != 0 || key.Environment != a.Environment {
		return nil, service.Fail(errcode.NotFound, "there is no such key")
	}
	record := &MirrorRecord{
		KeyID: key.ID.String(), Email: key.Email, Organization: key.Organization, Plan: key.Tier, Scopes: key.Scopes.Names(),
		Shim: key.Shim,
	}
	if key.PolicyHash == [32]byte{} {
		return record, nil
	}
	stored, err := a.Ledger.Policy(ctx, key.ID)
	if err != nil {
		return nil, a.StoreFault("a policy could not be read for the test environment", err)
	}
	record.Operator, record.WarrantyMD = attest.FormatOperatorKey(stored.Operator[:]), stored.Text
	return record, nil
}
