package ledger

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"bailiff/vm/amount"
)

// Bounds of approvers and of their decisions.
const (
	MaxApprovers          = 100 // devices that are not removed
	MaxDevices            = 2   // of one approver
	MaxApproverName       = 64
	MaxCredential         = 1023 // bytes of a credential's id (WebAuthn, section 4)
	MaxCredentialKey      = 2048 // bytes of its public key as COSE
	MaxApproverKeys       = 64
	MaxApproverSections   = 32
	MaxApproverAssets     = 64
	MaxAssetName          = 64
	MaxApprovalSummary    = 4096
	MaxAuthenticatorData  = 1024
	MaxClientData         = 2048
	MaxAssertionSignature = 1024
	MaxApprovalsNeeded    = 2
)

// An ApproverAction is what a statement does to an approver's devices. The numbers are those of the records' kinds.
type ApproverAction Kind

// The actions.
const (
	ConfirmApprover = ApproverAction(ApproverConfirmed)
	SuspendApprover = ApproverAction(ApproverSuspended)
	ResumeApprover  = ApproverAction(ApproverResumed)
	RemoveApprover  = ApproverAction(ApproverRemoved)
)

// approverActions are the words of the actions, in statements and on the wire.
var approverActions = []struct {
	action ApproverAction
	word   string
}{{ConfirmApprover, "confirm"}, {SuspendApprover, "suspend"}, {ResumeApprover, "resume"}, {RemoveApprover, "remove"}}

// String returns the action's word.
func (a ApproverAction) String() string {
	for _, row := range approverActions {
		if row.action == a {
			return row.word
		}
	}
	return fmt.Sprintf("ApproverAction(%d)", uint8(a))
}

// ParseApproverAction returns the action of a word.
func ParseApproverAction(word string) (ApproverAction, error) {
	for _, row := range approverActions {
		if row.word == word {
			return row.action, nil
		}
	}
	return 0, fmt.Errorf("%w: action is %.32q; it can be confirm, suspend, resume or remove", ErrInvalid, word)
}

// An ApproverStatement is what an operator signs about an approver: a person who decides holds with a passkey
// (specification, approvals.3).
type ApproverStatement struct {
	Action    ApproverAction
	Serial    uint64 // one above that of the statement about approvers before; the first has 1
	SignedAt  int64  // Unix seconds
	Operator  [32]byte
	Signature [64]byte // over Text

	Name       string // of the approver: lower-case letters, digits, and . _ - between them
	Credential []byte // whose id; of other actions than confirm empty for all devices of the approver

	Grant // of confirm
}

// A Grant is what a device may decide.
type Grant struct {
	PublicKey []byte // COSE (RFC 9052)
	Keys      []ID   // the API keys whose holds; none: those of every key that the operator governs
	Sections  []string
	// Amounts are the highest amounts by asset, in base units, in the order of the assets. An asset that is not there: none of it. A fee
	// counts as an amount of the chain's own currency.
	Amounts       []AssetAmount
	WithoutAmount bool  // whether intents that have no amount, or call methods whose amounts are not known
	Expires       int64 // Unix seconds
}

// An AssetAmount is an amount of an asset in base units. The asset is as the intent's normal form has it: the token's symbol or address
// in lower case, and "eth" for the chain's own currency.
type AssetAmount struct {
	Asset  string
	Amount amount.Amount
}

// NativeAsset is the asset of an intent that has an amount and no token.
const NativeAsset = "eth"

// An Approver is a device that may decide holds.
type Approver struct {
	ApproverStatement       // that confirmed it
	Confirmed         int64 // Unix nanoseconds
	Suspended         int64 // since when; 0 while it is not
}

// ErrApprover says that the device may not decide: it is unknown, suspended, removed or expired, or was confirmed anew since.
var ErrApprover = errors.New("ledger: the passkey may not decide")

// ErrApproved says that the same approver has approved the hold before.
var ErrApproved = errors.New("ledger: the approver has approved the hold already")

// Text is what the operator signs, for a service of an environment and an issuer.
func (s *ApproverStatement) Text(environment, issuer string) []byte {
	keys := make([]string, len(s.Keys))
	for i, key := range s.Keys {
		keys[i] = key.String()
	}
	amounts := make([]string, len(s.Amounts))
	for i, a := range s.Amounts {
		amounts[i] = a.Asset + "=" + a.Amount.String()
	}
	return []byte(strings.Join([]string{
		"svc-approver-v1", environment, issuer, s.Action.String(), s.Name,
		base64.RawURLEncoding.EncodeToString(s.Credential), base64.RawURLEncoding.EncodeToString(s.PublicKey),
		strings.Join(keys, ","), strings.Join(s.Sections, ","), strings.Join(amounts, ","),
		strconv.FormatBool(s.WithoutAmount), strconv.FormatInt(s.Expires, 10), strconv.FormatInt(s.SignedAt, 10), strconv.FormatUint(s.Serial, 10),
	}, "\n"))
}

// Concerns reports whether a statement is about a device.
func (s *ApproverStatement) Concerns(d *Approver) bool {
	return d.Name == s.Name && (len(s.Credential) == 0 || bytes.Equal(d.Credential, s.Credential))
}

// Clone returns a statement that shares no memory with s.
func (s *ApproverStatement) Clone() ApproverStatement {
	own := *s
	own.Name, own.Credential, own.PublicKey = strings.Clone(s.Name), slices.Clone(s.Credential), slices.Clone(s.PublicKey)
	own.Keys, own.Sections, own.Amounts = slices.Clone(s.Keys), slices.Clone(s.Sections), slices.Clone(s.Amounts)
	for i := range own.Sections {
		own.Sections[i] = strings.Clone(own.Sections[i])
	}
	for i := range own.Amounts {
		own.Amounts[i].Asset = strings.Clone(own.Amounts[i].Asset)
	}
	return own
}

// Validate returns an error that wraps [ErrInvalid] and names the first part of s that no ledger would record.
func (s *ApproverStatement) Validate() error {
	switch {
	case !slices.ContainsFunc(approverActions, func(row struct {
		action ApproverAction
		word   string
	}) bool {
		return row.action == s.Action
	}):
		return fmt.Errorf("%w: unknown action %s", ErrInvalid, s.Action)
	case !plainName(s.Name, MaxApproverName):
		return fmt.Errorf("%w: the approver's name is %.64q; it has 1 to %d lower-case letters and digits, and . _ - between them", ErrInvalid, s.Name, MaxApproverName)
	case s.Serial == 0 || s.SignedAt < 0 || s.SignedAt > MaxTime:
		return fmt.Errorf("%w: a statement of serial %d at %d: serials begin with 1, and times are Unix seconds", ErrInvalid, s.Serial, s.SignedAt)
	case len(s.Credential) > MaxCredential || s.Action == ConfirmApprover && len(s.Credential) == 0:
		return fmt.Errorf("%w: the credential's id has %d bytes; it can have 1 to %d", ErrInvalid, len(s.Credential), MaxCredential)
	}
	return s.Grant.validate(s.Action == ConfirmApprover)
}

func (g *Grant) validate(confirms bool) error {
	if !confirms {
		if len(g.PublicKey)+len(g.Keys)+len(g.Sections)+len(g.Amounts) > 0 || g.WithoutAmount || g.Expires != 0 {
			return fmt.Errorf("%w: only a statement that confirms says what a device may decide", ErrInvalid)
		}
		return nil
	}
	switch {
	case len(g.PublicKey) == 0 || len(g.PublicKey) > MaxCredentialKey:
		return fmt.Errorf("%w: the public key has %d bytes; it can have 1 to %d", ErrInvalid, len(g.PublicKey), MaxCredentialKey)
	case len(g.Keys) > MaxApproverKeys || !rising(g.Keys, func(a, b ID) int { return strings.Compare(a.String(), b.String()) }):
		return fmt.Errorf("%w: there are %d API keys; there can be %d different ones, in their order", ErrInvalid, len(g.Keys), MaxApproverKeys)
	case len(g.Sections) == 0 || len(g.Sections) > MaxApproverSections || !rising(g.Sections, strings.Compare):
		return fmt.Errorf("%w: there are %d sections; there can be 1 to %d different ones, in their order", ErrInvalid, len(g.Sections), MaxApproverSections)
	case len(g.Amounts) > MaxApproverAssets || !rising(g.Amounts, func(a, b AssetAmount) int { return strings.Compare(a.Asset, b.Asset) }):
		return fmt.Errorf("%w: there are amounts of %d assets; there can be %d different ones, in their order", ErrInvalid, len(g.Amounts), MaxApproverAssets)
	case g.Expires <= 0 || g.Expires > MaxTime/int64(time.Second):
		return fmt.Errorf("%w: the statement expires at %d: use Unix seconds", ErrInvalid, g.Expires)
	}
	for _, section := range g.Sections {
		if !plainName(section, MaxApproverName) {
			return fmt.Errorf("%w: %.64q is not a name of a section", ErrInvalid, section)
		}
	}
	for _, a := range g.Amounts {
		if !plainName(a.Asset, MaxAssetName) {
			return fmt.Errorf("%w: %.64q is not an asset; give a symbol or an address, in lower case", ErrInvalid, a.Asset)
		}
	}
	return nil
}

// rising reports whether each is above the one before.
func rising[T any](all []T, compare func(a, b T) int) bool {
	return slices.IsSortedFunc(all, func(a, b T) int { return cmp.Or(compare(a, b), 1) })
}

// plainName reports whether a name has lower-case letters and digits alone, and . _ - between them.
func plainName(name string, most int) bool {
	if name == "" || len(name) > most || strings.ContainsRune("._-", rune(name[0])) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	})
}

// Asked is what a hold's intent asks for.
type Asked struct {
	Amounts  []AssetAmount // above zero, in the order of the assets
	NoAmount bool          // it has no amount, or also does something whose amounts are not known
}

// Covers returns why a device may not decide holds of a key and a section; empty where it may.
func (g *Grant) Covers(key ID, section string) (reason string) {
	switch {
	case len(g.Keys) > 0 && !slices.Contains(g.Keys, key):
		return "the passkey is not for this API key"
	case !slices.Contains(g.Sections, section):
		return "the passkey is not for the section " + section
	}
	return ""
}

// Allows returns why a device may not allow what an intent asks for; empty where it may.
func (g *Grant) Allows(asked *Asked) (reason string) {
	if asked.NoAmount && !g.WithoutAmount {
		return "the passkey is not for intents without an amount, or with calls whose amounts are not known"
	}
	for _, of := range asked.Amounts {
		at := slices.IndexFunc(g.Amounts, func(a AssetAmount) bool { return a.Asset == of.Asset })
		if at < 0 {
			return "the passkey is not for amounts of " + of.Asset
		}
		if of.Amount.Cmp(g.Amounts[at].Amount) > 0 {
			return fmt.Sprintf("it asks for %s base units of %s, the fee included, and the passkey is for at most %s", of.Amount, of.Asset, g.Amounts[at].Amount)
		}
	}
	return ""
}

// An Approval is an approver's decision about a hold, with all that it takes to verify it later (specification, approvals.8).
type Approval struct {
	Name              string // of the approver
	Credential        []byte
	Serial            uint64 // of the statement that confirmed the device
	Nonce             [32]byte
	Summary           string // as the approver saw it
	AuthenticatorData []byte
	ClientData        []byte // the JSON that the browser made
	Signature         []byte
}

// Challenge is what the passkey signs about a hold: the SHA-256 of the parts, on a line each (specification, approvals.6).
func (a *Approval) Challenge(issuer string, hold *Hold, decision Decision) [32]byte {
	summary := sha256.Sum256([]byte(a.Summary))
	return sha256.Sum256([]byte(strings.Join([]string{
		"svc-hold-approval-v1", issuer, hold.Key.String(), hold.ID.String(), hex.EncodeToString(hold.IntentHash[:]), hex.EncodeToString(hold.PolicyHash[:]),
		decision.String(), hex.EncodeToString(summary[:]), hex.EncodeToString(a.Nonce[:]),
	}, "\n")))
}

func (a *Approval) validate() error {
	for _, part := range []struct {
		name      string
		has, most int
	}{
		{"name", len(a.Name), MaxApproverName},
		{"credential", len(a.Credential), MaxCredential},
		{"summary", len(a.Summary), MaxApprovalSummary},
		{"authenticator data", len(a.AuthenticatorData), MaxAuthenticatorData},
		{"client data", len(a.ClientData), MaxClientData},
		{"signature", len(a.Signature), MaxAssertionSignature},
	} {
		if part.has > part.most || part.has == 0 {
			return fmt.Errorf("%w: the %s of an approval has %d bytes; it can have 1 to %d", ErrInvalid, part.name, part.has, part.most)
		}
	}
	if !utf8.ValidString(a.Summary) {
		return fmt.Errorf("%w: the summary of an approval is not UTF-8", ErrInvalid)
	}
	return nil
}
