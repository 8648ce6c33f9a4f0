// Package approvals lets people decide holds with a passkey: who may (approvers, whom the operator confirms with a signature), how a passkey is
// registered (enrolment), and the decision, in which the passkey signs everything that it is about (specification, "Approvals"). Package httpd/approve has
// the web pages.
//
// It promises that no hold is decided by an API key; that each decision is signed by a passkey which the operator has confirmed, and which may decide
// that very hold when the decision is recorded; that the device verified the person; and that a signature decides one hold, once.
package approvals

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/sethvargo/go-diceware/diceware"

	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/decision"
	"bailiff/runtime/eventjson"
	"bailiff/runtime/ledger"
)

// Config is what approvals are made of. All of it is required.
type Config struct {
	Decider *decision.Decider
	// PublicURL is where browsers reach the service: https, or http://localhost. Its host is what passkeys are bound to.
	PublicURL string
	// Needed is how many approvers it takes to allow a hold: 1 or 2.
	Needed int
}

// Approvals are the approvers of a service and their decisions. It is safe for concurrent use.
type Approvals struct {
	*decision.Decider
	site   site
	needed int
	visits visits

	stating sync.Mutex // held while a statement is checked and recorded

	mu         sync.Mutex
	enrolments []*enrolment
}

// A site is what browsers bind passkeys to.
type site struct {
	base   string // the public URL
	rpID   string // its host
	origin string // its scheme, host and port
}

// ErrPublicURL says that browsers use no passkeys at an address.
var ErrPublicURL = errors.New("passkeys need SVC_PUBLIC_URL to be https and a host name in ASCII without a path, or http://localhost for a trial")

// New returns the approvals of a service. [ErrPublicURL] where its address is not one that browsers use passkeys at.
func New(c Config) (*Approvals, error) {
	where, err := siteOf(c.PublicURL)
	if err != nil {
		return nil, err
	}
	if c.Needed < 1 || c.Needed > ledger.MaxApprovalsNeeded {
		return nil, fmt.Errorf("%d approvals are needed; it can be 1 to %d", c.Needed, ledger.MaxApprovalsNeeded)
	}
	a := &Approvals{Decider: c.Decider, needed: c.Needed, site: where}
	a.visits.byToken, a.visits.used = map[[sha256.Size]byte]*Visit{}, map[[challengeBytes]byte]int64{}
	if err := a.draw(a.visits.secret[:]); err != nil {
		return nil, err
	}
	return a, nil
}

// draw fills b with random bytes.
func (a *Approvals) draw(b []byte) error {
	if _, err := io.ReadFull(a.Random, b); err != nil {
		return fmt.Errorf("reading random bytes: %w", err)
	}
	return nil
}

// siteOf returns what browsers bind passkeys to at an address.
func siteOf(address string) (site, error) {
	u, err := url.Parse(address)
	if err != nil || !isName(u.Hostname()) || u.Scheme != "https" && (u.Scheme != "http" || u.Hostname() != "localhost") ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return site{}, fmt.Errorf("%w; it is %q", ErrPublicURL, address)
	}
	origin := originOf(u)
	return site{origin, strings.ToLower(u.Hostname()), origin}, nil
}

// HoldPages is what an id of a hold is put behind to make the address where approvers decide it. [ErrPublicURL] where browsers use no passkeys at an
// address.
func HoldPages(address string) (prefix string, err error) {
	s, err := siteOf(address)
	if err != nil {
		return "", err
	}
	return s.base + "/approve/holds/", nil
}

// originOf is how a browser spells the origin of an address: in lower case, without the scheme's own port.
func originOf(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if own := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; strings.HasSuffix(host, own) {
		host = strings.TrimSuffix(host, own)
	}
	return u.Scheme + "://" + host
}

// isName reports whether a host is a name in ASCII, as browsers spell it: they bind no passkeys to addresses.
func isName(host string) bool {
	letters := false
	for _, r := range strings.ToLower(host) {
		letters = letters || r >= 'a' && r <= 'z'
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '-' {
			return false
		}
	}
	return letters
}

// Link is where approvers see the holds that wait.
func (a *Approvals) Link() string { return a.site.base + "/approve" }

// List is who may decide holds.
type List struct {
	Environment string       `json:"environment"` // that statements are for
	Issuer      string       `json:"issuer"`      // likewise
	Serial      uint64       `json:"serial"`      // of the latest statement; the next one has a higher serial
	Needed      int          `json:"approvalsRequired"`
	Devices     []Device     `json:"devices"`
	Enrolments  []PendingKey `json:"enrolments"`        // passkeys that wait to be confirmed
	PagesAt     string       `json:"pagesAt,omitempty"` // the instance that has the approvers' pages and enrolments, where another one does
}

// Device is a passkey that may decide.
type Device struct {
	eventjson.Approver
	Words       string `json:"words"`
	ConfirmedAt int64  `json:"confirmedAt"`           // Unix seconds
	SuspendedAt int64  `json:"suspendedAt,omitempty"` // likewise
}

// PendingKey is a passkey that was enrolled and is not confirmed.
type PendingKey struct {
	Name       string `json:"approver"`
	Credential string `json:"credentialId,omitempty"` // absent before the approver has made it
	PublicKey  string `json:"publicKey,omitempty"`
	ExpiresAt  int64  `json:"expiresAt"` // Unix seconds
}

// Approvers returns who may decide holds.
func (a *Approvals) Approvers(ctx context.Context) (*List, error) {
	all, serial, err := a.Ledger.Approvers(ctx)
	if err != nil {
		return nil, err
	}
	list := &List{Environment: a.Environment, Issuer: a.Issuer, Serial: serial, Needed: a.needed, Devices: []Device{}, Enrolments: a.pending()}
	for i := range all {
		d := &all[i]
		list.Devices = append(list.Devices, Device{
			Approver: *eventjson.ApproverOf(&d.ApproverStatement), Words: Words(d.Credential, d.PublicKey), ConfirmedAt: d.Confirmed / 1e9, SuspendedAt: d.Suspended / 1e9,
		})
	}
	return list, nil
}

// wordsOfCredential is how many words a passkey is compared by: 77 bits.
const wordsOfCredential = 6

// Words are six words of the hash of a passkey, by which an approver and the operator compare what they see.
func Words(credential, publicKey []byte) string {
	sum := sha256.Sum256(slices.Concat(credential, []byte{0}, publicKey))
	list := diceware.WordListEffLarge()
	words := make([]string, wordsOfCredential)
	for i := range words {
		// The list has 6^5 words, numbered by five dice. Four bytes of the hash make a word as good as evenly.
		n := int(sum[4*i])<<24 | int(sum[4*i+1])<<16 | int(sum[4*i+2])<<8 | int(sum[4*i+3])
		number := 0
		for range list.Digits() {
			number, n = 10*number+1+n%6, n/6
		}
		words[i] = list.WordAt(number)
	}
	return strings.Join(words, " ")
}

// statementTolerance is how far the time of a statement may be from now, in seconds.
const statementTolerance = 300

// State records what an operator has signed about an approver; it is durable and in force then. Errors are those of the ledger, and wrap
// accounts.ErrStatement where the statement is not good.
func (a *Approvals) State(ctx context.Context, request eventjson.Approver) (*List, error) {
	s, err := request.Statement()
	if err != nil {
		return nil, err
	}
	a.stating.Lock()
	defer a.stating.Unlock()
	if err := a.checkStatement(ctx, s); err != nil {
		return nil, err
	}
	now := a.Clock()
	if s.Action == ledger.ConfirmApprover {
		if err := a.checkConfirmation(ctx, s); err != nil {
			return nil, err
		}
	}
	if err := a.Ledger.StateApprover(ctx, s, now.UnixNano()); err != nil {
		return nil, err
	}
	if s.Action == ledger.ConfirmApprover {
		a.endEnrolment(s.Name)
	}
	a.Log.Warn("approvers: "+s.Action.String(), "approver", s.Name, "credential", base64.RawURLEncoding.EncodeToString(s.Credential), "serial", s.Serial)
	return a.Approvers(ctx)
}

// checkStatement checks that an operator who may has signed a statement, for this service and now.
func (a *Approvals) checkStatement(ctx context.Context, s *ledger.ApproverStatement) error {
	now := a.Clock().Unix()
	if s.SignedAt > now+statementTolerance || s.SignedAt < now-statementTolerance {
		return fmt.Errorf("%w: it was signed at %d, which is not within %d seconds of now, %d; sign it again", accounts.ErrStatement, s.SignedAt, statementTolerance, now)
	}
	if s.Operator == [32]byte{} || attest.VerifyPolicy(s.Operator[:], s.Text(a.Environment, a.Issuer), s.Signature[:]) != nil {
		return fmt.Errorf("%w: the signature does not verify with operatorPublicKey, for this environment and issuer", accounts.ErrStatement)
	}
	if s.Operator == a.CurrentOperator() {
		return nil
	}
	if s.Action == ledger.ConfirmApprover {
		if err := a.checkPins(s); err != nil {
			return err
		}
	}
	all, _, err := a.Ledger.Approvers(ctx)
	if err != nil {
		return err
	}
	operators := a.Ledger.Operators()
	if slices.ContainsFunc(all, func(d ledger.Approver) bool { return s.Concerns(&d) && operators.Current(d.Operator) != s.Operator }) {
		return errNotOperator
	}
	return nil
}

var errNotOperator = fmt.Errorf("%w: it is not signed by the service's operator; sign it with the key whose public part is SVC_OPERATOR_PUBLIC_KEY", accounts.ErrStatement)

// checkPins checks that an operator who is not the service's own speaks for API keys that are pinned to that operator's key alone.
func (a *Approvals) checkPins(s *ledger.ApproverStatement) error {
	if len(s.Keys) == 0 {
		return errNotOperator
	}
	for _, id := range s.Keys {
		key, found := a.Ledger.LookupKeyID(id)
		if !found {
			return fmt.Errorf("%w: no key has the id %s", ledger.ErrNotFound, id)
		}
		if pinned, open := a.OperatorOf(key); open || pinned != s.Operator {
			return fmt.Errorf("%w: the API key %s is pinned to another operator key than the one that signed it", accounts.ErrStatement, id)
		}
	}
	return nil
}

// checkConfirmation checks that the passkey of a confirmation is one that was enrolled under that name, or is known already.
func (a *Approvals) checkConfirmation(ctx context.Context, s *ledger.ApproverStatement) error {
	if s.Expires <= a.Clock().Unix() {
		return fmt.Errorf("%w: the statement expires at %d, which is over", ledger.ErrInvalid, s.Expires)
	}
	all, _, err := a.Ledger.Approvers(ctx)
	if err != nil {
		return err
	}
	if a.enrolled(s) || slices.ContainsFunc(all, func(d ledger.Approver) bool {
		return d.Name == s.Name && slices.Equal(d.Credential, s.Credential) && slices.Equal(d.PublicKey, s.PublicKey)
	}) {
		return nil
	}
	return fmt.Errorf("%w: no passkey was enrolled for %s that this statement is about; begin with: bailiff approvers add %s", ledger.ErrNotFound, s.Name, s.Name)
}

// device returns the device of a credential where it may decide now, nil otherwise.
func (a *Approvals) device(ctx context.Context, credential []byte) (*ledger.Approver, error) {
	all, _, err := a.Ledger.Approvers(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if d := &all[i]; slices.Equal(d.Credential, credential) && d.Suspended == 0 && a.Clock().Unix() < d.Expires {
			return d, nil
		}
	}
	return nil, nil
}

// governs reports whether the operator who confirmed a device is the one of an API key.
func (a *Approvals) governs(d *ledger.Approver, key *ledger.Key) bool {
	pinned, open := a.OperatorOf(key)
	operators := a.Ledger.Operators()
	return !open && pinned == operators.Current(d.Operator)
}
