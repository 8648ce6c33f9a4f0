package state

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/codec"
)

// An approverTable has the devices that may decide holds, and the serial of the latest statement about one.
type approverTable struct {
	serial  uint64
	devices []ledger.Approver // in the order of their confirmation
}

// byCredential returns the place of a device, -1 where it is unknown.
func (t *approverTable) byCredential(id []byte) int {
	return slices.IndexFunc(t.devices, func(d ledger.Approver) bool { return bytes.Equal(d.Credential, id) })
}

// StateApprover fills in the record of a statement about an approver, or returns why there is none.
func (s *State) StateApprover(q *ledger.ApproverStatement, at int64, r *Record) error {
	r.reset()
	if err := q.Validate(); err != nil {
		return err
	}
	if at < 1 || at > ledger.MaxTime {
		return fmt.Errorf("%w: a statement that came at %d: use Unix nanoseconds", ledger.ErrInvalid, at)
	}
	if err := s.staleOperator(q.Operator); err != nil {
		return err
	}
	if err := s.approvers.admits(q); err != nil {
		return err
	}
	r.Kind, r.Now, r.Approver = ledger.Kind(q.Action), at, q
	return nil
}

// admits returns why a statement can't follow those before it.
func (t *approverTable) admits(q *ledger.ApproverStatement) error {
	of, known := 0, 0 // of the approver, and those that the statement is about
	for i := range t.devices {
		if d := &t.devices[i]; d.Name == q.Name {
			of++
			if q.Concerns(d) {
				known++
			}
		}
	}
	confirms, at := q.Action == ledger.ConfirmApprover, t.byCredential(q.Credential)
	switch {
	case q.Serial != t.serial+1:
		return fmt.Errorf("%w: the statement has serial %d, and the next one is %d; sign it with that", ledger.ErrStatementSerial, q.Serial, t.serial+1)
	case !confirms && known == 0:
		return fmt.Errorf("%w: the approver %s has no such device", ledger.ErrNotFound, q.Name)
	case confirms && at >= 0 && t.devices[at].Name != q.Name:
		return fmt.Errorf("%w: the credential is of the approver %s", ledger.ErrKeyExists, t.devices[at].Name)
	case known == 0 && of >= ledger.MaxDevices:
		return fmt.Errorf("%w: the approver %s has %d devices already; remove one first", ledger.ErrTooMany, q.Name, of)
	case known == 0 && len(t.devices) >= ledger.MaxApprovers:
		return fmt.Errorf("%w: there are %d devices already; remove one first", ledger.ErrTooMany, len(t.devices))
	}
	return nil
}

// applyApprover makes a statement so. A device that is confirmed anew has the new grant, and is not suspended.
func (s *State) applyApprover(_ *keyState, _ uint64, r *Record) error {
	t, q := &s.approvers, r.Approver
	if err := t.admits(q); err != nil {
		return err
	}
	t.serial = q.Serial
	switch q.Action {
	case ledger.ConfirmApprover:
		t.devices = slices.DeleteFunc(t.devices, func(d ledger.Approver) bool { return bytes.Equal(d.Credential, q.Credential) })
		t.devices = append(t.devices, ledger.Approver{ApproverStatement: q.Clone(), Confirmed: r.Now})
	case ledger.RemoveApprover:
		t.devices = slices.DeleteFunc(t.devices, func(d ledger.Approver) bool { return q.Concerns(&d) })
	default:
		for i := range t.devices {
			d := &t.devices[i]
			switch {
			case !q.Concerns(d):
			case q.Action == ledger.ResumeApprover:
				d.Suspended = 0
			case d.Suspended == 0:
				d.Suspended = r.Now
			}
		}
	}
	return nil
}

// Approvers returns the devices that are not removed, and the serial of the latest statement.
func (s *State) Approvers() ([]ledger.Approver, uint64) {
	return slices.Clone(s.approvers.devices), s.approvers.serial
}

// decides returns the device of a credential where it may decide at a time.
func (t *approverTable) decides(credential []byte, now int64) *ledger.Approver {
	at := t.byCredential(credential)
	if at < 0 {
		return nil
	}
	if d := &t.devices[at]; d.Suspended == 0 && now/1e9 < d.Expires {
		return d
	}
	return nil
}

func (r *Record) showApproval(e *ledger.LoggedEvent) {
	e.Hold, e.Approval, e.Note = r.Hold.ID, r.Approval, r.Note
}

func (r *Record) showApprover(e *ledger.LoggedEvent) { e.Approver = r.Approver }

// The fields of approvers and approvals.
var (
	statement = &field{
		"serial signed-at operator signature name credential", 2*maxVarint + 32 + 64 + ledger.MaxApproverName + ledger.MaxCredential + 2*maxVarint,
		func(r *Record, b []byte) []byte { return appendHead(b, r.Approver) },
		func(r *Record, d *decoder) {
			r.Approver = &ledger.ApproverStatement{Action: ledger.ApproverAction(r.Kind)}
			readHead(d, r.Approver)
		},
	}
	confirmation = &field{
		"serial signed-at operator signature name credential public-key n (key)*n n (section)*n n (asset amount)*n without-amount expires",
		statement.most + ledger.MaxCredentialKey + 6*maxVarint + 1 + ledger.MaxApproverKeys*idBytes +
			ledger.MaxApproverSections*(ledger.MaxApproverName+maxVarint) + ledger.MaxApproverAssets*(ledger.MaxAssetName+maxVarint+maxAmount),
		func(r *Record, b []byte) []byte { return appendStatement(b, r.Approver) },
		func(r *Record, d *decoder) { r.Approver = readStatement(d, ledger.ApproverAction(r.Kind)) },
	}
	note     = textField("note", ledger.MaxResolutionNote, func(r *Record) *string { return &r.Note })
	approval = &field{
		"approver credential serial nonce summary authenticator-data client-data assertion-signature",
		ledger.MaxApproverName + ledger.MaxCredential + 32 + ledger.MaxApprovalSummary + ledger.MaxAuthenticatorData +
			ledger.MaxClientData + ledger.MaxAssertionSignature + 7*maxVarint,
		(*Record).appendApproval, (*Record).readApproval,
	}
)

// appendHead appends what statements of all actions have.
func appendHead(b []byte, q *ledger.ApproverStatement) []byte {
	b = codec.AppendMoment(binary.AppendUvarint(b, q.Serial), q.SignedAt)
	b = append(append(b, q.Operator[:]...), q.Signature[:]...)
	return codec.AppendBytes(codec.AppendText(b, q.Name), q.Credential)
}

func readHead(d *decoder, q *ledger.ApproverStatement) {
	q.Serial, q.SignedAt = d.Uvarint(), d.Time()
	d.Copy(q.Operator[:])
	d.Copy(q.Signature[:])
	q.Name, q.Credential = d.Text(ledger.MaxApproverName), d.Bytes(ledger.MaxCredential)
	if q.Action != ledger.ConfirmApprover {
		d.checkStatement(q)
	}
}

func appendStatement(b []byte, q *ledger.ApproverStatement) []byte {
	b = codec.AppendCount(codec.AppendBytes(appendHead(b, q), q.PublicKey), len(q.Keys))
	for _, key := range q.Keys {
		b = append(b, key[:]...)
	}
	b = codec.AppendCount(b, len(q.Sections))
	for _, section := range q.Sections {
		b = codec.AppendText(b, section)
	}
	b = codec.AppendCount(b, len(q.Amounts))
	for _, a := range q.Amounts {
		b = codec.AppendAmount(codec.AppendText(b, a.Asset), a.Amount)
	}
	return codec.AppendMoment(append(b, codec.Bit(q.WithoutAmount)), q.Expires)
}

func readStatement(d *decoder, action ledger.ApproverAction) *ledger.ApproverStatement {
	q := &ledger.ApproverStatement{Action: action}
	readHead(d, q)
	q.PublicKey = d.Bytes(ledger.MaxCredentialKey)
	for range d.Count() {
		var key ledger.ID
		d.Copy(key[:])
		q.Keys = append(q.Keys, key)
	}
	for range d.Count() {
		q.Sections = append(q.Sections, d.Text(ledger.MaxApproverName))
	}
	for range d.Count() {
		q.Amounts = append(q.Amounts, ledger.AssetAmount{Asset: d.Text(ledger.MaxAssetName), Amount: d.Amount()})
	}
	q.WithoutAmount, q.Expires = d.Bool(), d.Time()
	d.checkStatement(q)
	return q
}

// checkStatement refuses a statement that no ledger records.
func (d *decoder) checkStatement(q *ledger.ApproverStatement) {
	d.Check(q.Validate() == nil, "a statement about an approver that is out of bounds")
}

func (r *Record) appendApproval(b []byte) []byte {
	a := r.Approval
	b = binary.AppendUvarint(codec.AppendBytes(codec.AppendText(b, a.Name), a.Credential), a.Serial)
	b = codec.AppendText(append(b, a.Nonce[:]...), a.Summary)
	return codec.AppendBytes(codec.AppendBytes(codec.AppendBytes(b, a.AuthenticatorData), a.ClientData), a.Signature)
}

func (r *Record) readApproval(d *decoder) {
	a := &ledger.Approval{Name: d.Text(ledger.MaxApproverName), Credential: d.Bytes(ledger.MaxCredential), Serial: d.Uvarint()}
	d.Copy(a.Nonce[:])
	a.Summary = d.Text(ledger.MaxApprovalSummary)
	a.AuthenticatorData, a.ClientData = d.Bytes(ledger.MaxAuthenticatorData), d.Bytes(ledger.MaxClientData)
	a.Signature = d.Bytes(ledger.MaxAssertionSignature)
	r.Approval = a
}
