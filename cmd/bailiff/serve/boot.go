package serve

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"

	"bailiff/cmd/bailiff/cli"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/grammar"
	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/policies"
	"bailiff/runtime/shims"
)

// boot is what a self-hosted service starts from; all of it is empty where the service is hosted.
type boot struct {
	Policy   *policies.Policy
	Text     []byte   // of the policy, as it was signed
	operator [32]byte // of the settings
	foreign  bool     // the policy's signature is not by that key; another key that the operator had may verify it
}

// ReadBoot loads the policy that governs every key without one of its own, or says in the specification's words why it
// can't (specification, modes.5).
func ReadBoot(s *cmdsettings.Settings) (boot, error) {
	if s.OperatorKey == "" {
		if s.Hosted {
			return boot{}, nil
		}
		return boot{}, startup("SVC_OPERATOR_PUBLIC_KEY is not set.")
	}
	operator, err := attest.ParseOperatorKey(s.OperatorKey)
	if err != nil {
		return boot{}, startup("SVC_OPERATOR_PUBLIC_KEY: %v", err)
	}
	if s.Hosted {
		return boot{operator: [32]byte(operator)}, nil
	}
	b, err := loadBoot(s.WarrantyPath, operator)
	b.operator = [32]byte(operator)
	if err != nil {
		return b, startup("%v", err)
	}
	return b, nil
}

// operatorsOf returns the operator keys that may have signed the policy, the present one first, or why the settings and the record do
// not agree on who the operator is. Before the first rotation the settings alone say that.
func operatorsOf(had ledger.Operators, set [32]byte) (all []ed25519.PublicKey, err error) {
	if len(had.Keys) == 0 {
		return []ed25519.PublicKey{set[:]}, nil
	}
	present := had.Keys[len(had.Keys)-1]
	if set != [32]byte{} && !slices.Contains(had.Keys, set) {
		return nil, fmt.Errorf("SVC_OPERATOR_PUBLIC_KEY is %s, and by the record the operator's key is %s; set it to that, or replace that while the service is stopped: SVC_OPERATOR_PUBLIC_KEY=%[2]s bailiff operator rotate --to %[1]s",
			attest.FormatOperatorKey(set[:]), attest.FormatOperatorKey(present[:]))
	}
	for _, key := range slices.Backward(had.Keys) {
		all = append(all, key[:])
	}
	return all, nil
}

// agree holds what the service starts from against the rotations of the operator's key that the record has.
func (r *service) agree(unread error) error {
	had := r.ledger.Operators()
	if len(had.Keys) == 0 {
		return unread
	}
	operators, err := operatorsOf(had, r.boot.operator)
	if err != nil {
		return startup("%v", err)
	}
	set := r.boot.operator
	if set != [32]byte{} && had.Replaced(set) {
		r.log.Warn("SVC_OPERATOR_PUBLIC_KEY is a key that was replaced; set it to the operator's present one", "operator", attest.FormatOperatorKey(operators[0]))
	}
	if r.settings.Hosted {
		return nil
	}
	if r.boot, err = loadBoot(r.settings.WarrantyPath, operators...); err != nil {
		return startup("%v", err)
	}
	r.boot.operator = set
	return nil
}

// loadBoot reads a policy's file, once: the bytes that are verified are those that are used. The error says what is wrong with
// the file and what to do. The present operator comes first; an earlier one may have signed a policy that is in force.
func loadBoot(path string, operators ...ed25519.PublicKey) (boot, error) {
	text, err := cli.ReadFile(path, grammar.MaxBytes)
	if err != nil {
		return boot{}, fmt.Errorf("the policy %w; WARRANTY_PATH names it", err)
	}
	policy, err := policies.LoadDefaultPolicy(grammar.NewSource(path, text), operators[0], operators[1:]...)
	var invalid *policies.InvalidPolicy
	if errors.As(err, &invalid) {
		return boot{}, fmt.Errorf("%s: %w%s", path, err, reportOf(invalid))
	}
	if err != nil {
		foreign := errors.Is(err, policies.ErrSignature)
		return boot{foreign: foreign}, fmt.Errorf("%s: %w; sign it with: bailiff sign --key operator.key %s", path, err, path)
	}
	return boot{Policy: policy, Text: text}, nil
}

// reportOf returns the findings about a policy, each on lines of its own.
func reportOf(invalid *policies.InvalidPolicy) (report []byte) {
	for _, d := range invalid.Diagnostics {
		report = append(append(report, '\n'), invalid.Source.Render(d)...)
	}
	return report
}

// maxShimsBytes bounds the file of trusted shims.
const maxShimsBytes = 1 << 20

// ReadShims reads the file of trusted shims; nil where the settings name none.
func ReadShims(s *cmdsettings.Settings) (*shims.Trusted, error) {
	path := s.TrustedShims
	if path == "" {
		return nil, nil
	}
	text, err := cli.ReadFile(path, maxShimsBytes)
	if err != nil {
		return nil, err
	}
	return shims.Parse(text)
}
