package player

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"bailiff/fuzz/kit/port"
)

// A Service is the real thing: its own binary with keys, policy and data in a folder of its own.
type Service struct {
	*Process
	APIKey string
}

// A Setting is how a service is started.
type Setting struct {
	Binary      string
	Policy      string      // unsigned
	Dir         string      // a folder for its keys and data
	Processors  int         // GOMAXPROCS; 0: its own choice
	Environment []string    // more of its settings
	TLS         *tls.Config // of clients, where the settings make it speak TLS
}

// StartService makes an operator key, signs the policy with it, makes an API key, and serves, all through the
// command's own ways and below its folder. It returns when the service answers.
func StartService(ctx context.Context, o *Setting) (*Service, error) {
	private, policy := filepath.Join(o.Dir, "operator.key"), filepath.Join(o.Dir, "warranty.md")
	environment := Environment(o.Processors)
	public, err := Output(ctx, environment, o.Binary, "keygen", "-o", private)
	if err != nil {
		return nil, err
	}
	if _, err := Output(ctx, environment, o.Binary, "sign", "--key", private, "-o", policy, o.Policy); err != nil {
		return nil, err
	}
	address, err := port.FreeAddress()
	if err != nil {
		return nil, err
	}
	environment = Environment(o.Processors,
		"SVC_OPERATOR_PUBLIC_KEY="+strings.TrimSpace(string(public)), "WARRANTY_PATH="+policy,
		"SVC_LISTEN="+address, "SVC_ADMIN_LISTEN=off", "SVC_DATA_DIR="+filepath.Join(o.Dir, "data"))
	environment = append(environment, o.Environment...)
	key, err := CreateKey(ctx, o.Binary, environment)
	if err != nil {
		return nil, err
	}
	s := &Service{APIKey: key, Process: &Process{Name: "the service", Address: address, TLS: o.TLS, Command: exec.Command(o.Binary, "serve")}}
	s.Command.Env = environment
	if err := s.Start(); err != nil {
		return nil, err
	}
	if err := s.Await(ctx, "/healthz"); err != nil {
		return nil, fmt.Errorf("%w; stopped: %w", err, s.Stop())
	}
	return s, nil
}

// CreateKey makes an API key of a service, by the settings that it has.
func CreateKey(ctx context.Context, binary string, environment []string) (string, error) {
	printed, err := Output(ctx, environment, binary, "keys", "create", "--email", "bench@localhost.localdomain", "--json")
	if err != nil {
		return "", err
	}
	var view struct {
		APIKey string `json:"api_key"`
	}
	if err := json.Unmarshal(printed, &view); err != nil || view.APIKey == "" {
		return "", fmt.Errorf("keys create printed no api_key: %s", printed)
	}
	return view.APIKey, nil
}
