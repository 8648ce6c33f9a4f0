package approvals

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
)

// A Checker verifies the decisions by passkey of a log, event by event in their order: that an operator has signed who may decide, and that a passkey
// which might decide then, for that API key and section, has signed each decision (specification, approvals.8). It does not judge amounts, for which it
// would take the policies of then, nor how many approvers the settings of then asked for. It follows rotations of the operator's key: beside a key in Operators
// count those that it replaced, each until its replacement, and those to which signed rotations lead from it.
type Checker struct {
	PublicURLs          []string // at which the service was reached
	Environment, Issuer string
	Operators           [][32]byte // whose statements count

	Statements, Decisions int // how many were verified
	Rotations             int // how many of the operator's key were followed

	chain  ledger.Operators    // the keys that the operator has had so far
	signed []bool              // of each rotation, whether the key that was replaced has signed it
	owed   map[[32]byte]uint64 // LSN of the first statement by a key that is to be one of the operator's

	devices []ledger.Approver
	holds   map[ledger.ID]*openHold // that were opened and have not ended
}

// An openHold is a hold that waits, as its records say.
type openHold struct {
	ledger.Hold
	halves []half // approvals of it, while it waits for another one
}

type half struct {
	name   string
	serial uint64
}

// Next verifies an event. The error names the fault.
func (c *Checker) Next(e *ledger.LoggedEvent) error {
	switch {
	case e.Rotation != nil:
		return c.rotation(e)
	case e.Approver != nil:
		return c.statement(e)
	case e.Approval != nil:
		return c.decision(e)
	case e.Kind == ledger.Decided && e.HoldState == ledger.HoldPending:
		if c.holds == nil {
			c.holds = map[ledger.ID]*openHold{}
		}
		c.holds[e.Hold] = &openHold{Hold: ledger.Hold{ID: e.Hold, Key: e.Key, IntentHash: e.IntentHash, PolicyHash: e.Event.PolicyHash, Rule: e.Ending.Rule}}
	case e.Kind == ledger.HoldResolved || e.Kind == ledger.HoldExpired:
		delete(c.holds, e.Hold)
	}
	return nil
}

// rotation verifies that a rotation follows the one before, and that the key which it replaces has signed it, where anyone has.
func (c *Checker) rotation(e *ledger.LoggedEvent) error {
	r, keys := e.Rotation, c.chain.Keys
	from, to := attest.FormatOperatorKey(r.From[:]), attest.FormatOperatorKey(r.To[:])
	switch {
	case len(keys) > 0 && keys[len(keys)-1] != r.From:
		return fmt.Errorf("record %d: the operator's key %s is replaced, which it was not then", e.LSN, from)
	case slices.Contains(keys, r.To):
		return fmt.Errorf("record %d: the operator's key is replaced by %s, which it was before", e.LSN, to)
	case r.Signed != nil && (r.Signed.Serial <= c.chain.Serial || attest.VerifyPolicy(r.From[:], attest.RotationText(c.Issuer, from, to, r.Signed.At, r.Signed.Serial), r.Signed.Signature[:]) != nil):
		return fmt.Errorf("record %d: the operator's key %s has not signed that %s replaces it, for the issuer %s", e.LSN, from, to, c.Issuer)
	}
	if len(keys) == 0 {
		keys = append(keys, r.From)
	}
	c.chain.Keys, c.signed = append(keys, r.To), append(c.signed, r.Signed != nil)
	if r.Signed != nil {
		c.chain.Serial = r.Signed.Serial
	}
	c.Rotations++
	return nil
}

// End verifies, once all events were, that the keys which have signed statements are the operator's.
func (c *Checker) End() error {
	for key, lsn := range c.owed {
		if !c.counts(key) {
			return fmt.Errorf("%s: the statement is of an operator key that is not known: %s; name it with --operator-key where it is yours", placeOf(lsn), attest.FormatOperatorKey(key[:]))
		}
	}
	return nil
}

// counts reports whether rotations lead from a key to one that counts, or signed ones from one that counts to it.
func (c *Checker) counts(key [32]byte) bool {
	at := slices.Index(c.chain.Keys, key)
	if at < 0 {
		return false
	}
	good := func(other [32]byte) bool { return slices.Contains(c.Operators, other) }
	if slices.ContainsFunc(c.chain.Keys[at:], good) {
		return true
	}
	for at > 0 && c.signed[at-1] {
		if at--; good(c.chain.Keys[at]) {
			return true
		}
	}
	return false
}

// Begin takes the devices and the operator's keys of a log's beginning, whose earlier records retention has dropped. The devices' statements
// are verified; that those which were signed before followed each other, and how keys were replaced, is what the service says in the state that
// it has signed. So keys count there that were replaced by one that counts, and none to which rotations lead from it.
func (c *Checker) Begin(devices []ledger.Approver, operators ledger.Operators) error {
	for i := range devices {
		d := &devices[i]
		if err := c.statement(&ledger.LoggedEvent{Approver: &d.ApproverStatement, At: d.Confirmed}); err != nil {
			return err
		}
		c.devices[len(c.devices)-1].Suspended = d.Suspended
	}
	if n := len(operators.Keys); n > 0 {
		c.chain = ledger.Operators{Keys: slices.Clone(operators.Keys), Serial: operators.Serial}
		c.signed = make([]bool, n-1)
	}
	return nil
}

// placeOf says where a statement is: in a record, or in the state that the log begins with.
func placeOf(lsn uint64) string {
	if lsn == 0 {
		return "in what the record begins with"
	}
	return fmt.Sprintf("record %d", lsn)
}

func (c *Checker) statement(e *ledger.LoggedEvent) error {
	s := e.Approver
	if c.chain.Replaced(s.Operator) {
		return fmt.Errorf("record %d: the statement about %s is of an operator key that was replaced before: %s", e.LSN, s.Name, attest.FormatOperatorKey(s.Operator[:]))
	}
	if !slices.Contains(c.Operators, s.Operator) {
		if c.owed == nil {
			c.owed = map[[32]byte]uint64{}
		}
		if _, known := c.owed[s.Operator]; !known {
			c.owed[s.Operator] = e.LSN
		}
	}
	if err := attest.VerifyPolicy(s.Operator[:], s.Text(c.Environment, c.Issuer), s.Signature[:]); err != nil {
		return fmt.Errorf("%s: the statement about %s is not signed by its operator, for the environment %s and the issuer %s", placeOf(e.LSN), s.Name, c.Environment, c.Issuer)
	}
	c.Statements++
	switch s.Action {
	case ledger.ConfirmApprover:
		c.devices = slices.DeleteFunc(c.devices, func(d ledger.Approver) bool { return bytes.Equal(d.Credential, s.Credential) })
		c.devices = append(c.devices, ledger.Approver{ApproverStatement: *s, Confirmed: e.At})
	case ledger.RemoveApprover:
		c.devices = slices.DeleteFunc(c.devices, func(d ledger.Approver) bool { return s.Concerns(&d) })
	default:
		for i := range c.devices {
			if d := &c.devices[i]; s.Concerns(d) {
				if d.Suspended = 0; s.Action == ledger.SuspendApprover {
					d.Suspended = e.At
				}
			}
		}
	}
	return nil
}

// decides reports whether the device of an approver that a statement confirmed might decide at a time.
func (c *Checker) decides(name string, serial uint64, at int64) bool {
	return slices.ContainsFunc(c.devices, func(d ledger.Approver) bool {
		return d.Name == name && d.Serial == serial && d.Suspended == 0 && at/1e9 < d.Expires
	})
}

func (c *Checker) decision(e *ledger.LoggedEvent) error {
	a := e.Approval
	hold, open := c.holds[e.Hold]
	at := slices.IndexFunc(c.devices, func(d ledger.Approver) bool { return bytes.Equal(d.Credential, a.Credential) })
	switch {
	case !open:
		return fmt.Errorf("record %d: a decision about the hold %s, which was not open", e.LSN, e.Hold)
	case at < 0 || c.devices[at].Name != a.Name || !c.decides(a.Name, a.Serial, e.At):
		return fmt.Errorf("record %d: the passkey of %s might not decide then", e.LSN, a.Name)
	}
	section, _, _ := strings.Cut(hold.Rule, ".")
	if reason := c.devices[at].Covers(hold.Key, section); reason != "" {
		return fmt.Errorf("record %d: %s decided the hold %s: %s", e.LSN, a.Name, e.Hold, reason)
	}
	if e.Kind == ledger.HoldApproved {
		if slices.ContainsFunc(hold.halves, func(h half) bool { return h.name == a.Name && c.decides(h.name, h.serial, e.At) }) {
			return fmt.Errorf("record %d: %s has approved the hold %s twice", e.LSN, a.Name, e.Hold)
		}
		hold.halves = append(hold.halves, half{a.Name, a.Serial})
	}
	decision := ledger.Allowed // of an approval that waits for another one, too
	if e.HoldState == ledger.HoldRefused {
		decision = ledger.Denied
	}
	var problems error
	for _, address := range c.PublicURLs {
		err := verifyAgain(address, c.Issuer, &c.devices[at], &hold.Hold, decision, a)
		if err == nil {
			c.Decisions++
			if e.Kind == ledger.HoldResolved {
				delete(c.holds, e.Hold)
			}
			return nil
		}
		problems = errors.Join(problems, fmt.Errorf("%s: %w", address, err))
	}
	return fmt.Errorf("record %d: the passkey of %s has not signed that decision: %w", e.LSN, a.Name, problems)
}
