package serve

import (
	"crypto/ed25519"
	"errors"
	"fmt"

	"bailiff/cmd/bailiff/cli"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/grammar"
	"bailiff/runtime/attest"
	"bailiff/runtime/policies"
	"bailiff/runtime/shims"
)

// boot is what a self-hosted service starts from; all of it is empty where the service is hosted.
type boot struct {
	Policy   *policies.Policy
	Text     []byte // of the policy, as it was signed
	operator [32]byte
}

// ReadBoot loads the policy that governs every key without one of its own, or says in the specification's words why it
// can't ("Startup errors").
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
	if err != nil {
		return boot{}, startup("%v", err)
	}
	return b, nil
}

// loadBoot reads a policy's file, once: the bytes that are verified are those that are used. The error says what is wrong with
// the file and what to do.
func loadBoot(path string, operator ed25519.PublicKey) (boot, error) {
	text, err := cli.ReadFile(path, grammar.MaxBytes)
	if err != nil {
		return boot{}, fmt.Errorf("the policy %w; WARRANTY_PATH names it", err)
	}
	policy, err := policies.LoadDefaultPolicy(grammar.NewSource(path, text), operator)
	var invalid *policies.InvalidPolicy
	if errors.As(err, &invalid) {
		return boot{}, fmt.Errorf("%s: %w%s", path, err, reportOf(invalid))
	}
	if err != nil {
		return boot{}, fmt.Errorf("%s: %w; sign it with: bailiff sign --key operator.key %s", path, err, path)
	}
	return boot{policy, text, [32]byte(operator)}, nil
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
