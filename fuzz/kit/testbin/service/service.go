// Package service starts the built command as a service, for tests and benchmarks that ask it as clients do.
package service

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Service is a service that runs on a port of its own.
type Service struct {
	Address string // http://127.0.0.1:PORT
	Key     string // an API key that may authorize and nothing else

	binary, folder string
	environment    []string
	process        *exec.Cmd
}

var (
	serving = regexp.MustCompile(`msg=serving .*address=(\S+)`)
	apiKey  = regexp.MustCompile(`sk_svc_(?:test_)?[0-9a-f]+`)
)

// Environment is this process's environment without Bailiff's own settings.
func Environment() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "SVC_") || strings.HasPrefix(entry, "WARRANTY_")
	})
}

// Start signs a policy, makes a key, and starts the service of a binary in a folder, which it fills. Settings are further
// variables of the service, in the form NAME=value.
func Start(binary, folder, policy string, settings ...string) (s *Service, err error) {
	if binary, err = filepath.Abs(binary); err != nil {
		return nil, err
	}
	s = &Service{binary: binary, folder: folder, environment: append(Environment(), "XDG_STATE_HOME="+folder)}
	if err := os.WriteFile(filepath.Join(folder, "warranty.md"), []byte(policy), 0o600); err != nil {
		return nil, err
	}
	public, err := s.Run("keygen", "-o", "operator.key")
	if err != nil {
		return nil, err
	}
	if _, err := s.Run("sign", "--key", "operator.key", "warranty.md"); err != nil {
		return nil, err
	}
	s.environment = append(s.environment, "SVC_OPERATOR_PUBLIC_KEY="+strings.TrimSpace(public), "WARRANTY_PATH=warranty.md",
		"SVC_DATA_DIR=data", "SVC_ADMIN_LISTEN=off", "SVC_LISTEN=127.0.0.1:0")
	s.environment = append(s.environment, settings...)
	if err := s.serve(); err != nil {
		return nil, err
	}
	said, err := s.Run("keys", "create", "--email", "agent@localhost.localdomain", "--json")
	if s.Key = apiKey.FindString(said); err != nil || s.Key == "" {
		return nil, errors.Join(fmt.Errorf("no API key was made: %w", err), s.Close())
	}
	return s, nil
}

// serve starts the process, and returns when it listens.
func (s *Service) serve() error {
	s.process = exec.Command(s.binary, "serve")
	s.process.Dir, s.process.Env = s.folder, s.environment
	log, err := s.process.StderrPipe()
	if err == nil {
		err = s.process.Start()
	}
	if err != nil {
		return err
	}
	var said strings.Builder
	lines := bufio.NewScanner(log)
	for s.Address == "" && lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if found := serving.FindStringSubmatch(lines.Text()); found != nil {
			s.Address = "http://" + found[1]
		}
	}
	if s.Address == "" {
		return fmt.Errorf("the service did not start: %w\n%s", s.process.Wait(), said.String())
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	return nil
}

// Run runs a subcommand in the service's folder, with its settings, and returns what it printed.
func (s *Service) Run(arguments ...string) (string, error) {
	command := exec.Command(s.binary, arguments...)
	command.Dir, command.Env = s.folder, s.environment
	output, err := command.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("bailiff %s: %w\n%s", arguments[0], err, output)
	}
	return string(output), err
}

// PID returns the id of the service's process.
func (s *Service) PID() int { return s.process.Process.Pid }

// Close kills the service.
func (s *Service) Close() error {
	if err := s.process.Process.Kill(); err != nil {
		return err
	}
	_ = s.process.Wait() // it was killed
	return nil
}
