package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"bailiff/fuzz/kit/port"
)

// startTimeout is how long the service may take until it answers.
const startTimeout = 10 * time.Second

// service is the real thing: its own binary with keys, policy and data in a folder of its own.
type service struct {
	*process
	apiKey string
}

// startService makes an operator key, signs the policy with it, makes an API key, and serves, all through the
// command's own ways and below dir.
func startService(ctx context.Context, o *options, dir string) (*service, error) {
	private, policy := filepath.Join(dir, "operator.key"), filepath.Join(dir, "warranty.md")
	environment := childEnvironment(o.processors)
	public, err := output(ctx, environment, o.service, "keygen", "-o", private)
	if err != nil {
		return nil, err
	}
	if _, err := output(ctx, environment, o.service, "sign", "--key", private, "-o", policy, o.policy); err != nil {
		return nil, err
	}
	address, err := port.FreeAddress()
	if err != nil {
		return nil, err
	}
	environment = childEnvironment(o.processors,
		"SVC_OPERATOR_PUBLIC_KEY="+strings.TrimSpace(string(public)), "WARRANTY_PATH="+policy,
		"SVC_LISTEN="+address, "SVC_ADMIN_LISTEN=off", "SVC_DATA_DIR="+filepath.Join(dir, "data"))
	key, err := createKey(ctx, o.service, environment)
	if err != nil {
		return nil, err
	}
	s := &service{apiKey: key, process: &process{name: "the service", address: address, command: exec.Command(o.service, "serve")}}
	s.command.Env = environment
	if err := s.start(); err != nil {
		return nil, err
	}
	if err := s.await(ctx); err != nil {
		return nil, fmt.Errorf("%w; stopped: %w", err, s.stop())
	}
	return s, nil
}

func createKey(ctx context.Context, binary string, environment []string) (string, error) {
	printed, err := output(ctx, environment, binary, "keys", "create", "--email", "bench@localhost.localdomain", "--json")
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

// await returns when the service answers.
func (s *service) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		_, err := s.get(ctx, "/healthz")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the service does not answer: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// get fetches one of the service's public documents.
func (s *service) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, response.Status)
	}
	return body, err
}
