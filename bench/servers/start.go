package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"bailiff/bench/player"
	"bailiff/fuzz/kit/certificate"
	"bailiff/fuzz/kit/port"
)

// A server is a process that answers questions.
type server struct {
	*player.Process
	name    string
	request func(q *question) (path, apiKey string, body []byte)
	read    func(status int, body []byte) (allowed bool, err error)
}

// bailiff is the name of the product among the servers.
const bailiff = "Bailiff"

// A peer is another server, built from a module of its own: the folder of its name has its go.mod.
type peer struct {
	name, folder, command string
	stores                string // what its answer takes from a store, and leaves in one
	start                 func(ctx context.Context, s *start) (*server, error)
}

var peers = []peer{
	{"OPA", "opa", "github.com/open-policy-agent/opa", "stores and signs nothing; reads its policy from memory", startOPA},
	{"Cerbos", "cerbos", "github.com/cerbos/cerbos/cmd/cerbos", "stores and signs nothing; reads its policy from memory", startCerbos},
	{"OpenFGA", "openfga", "github.com/openfga/openfga/cmd/openfga", "stores and signs nothing in a check; reads tuples from its store, here the one in memory", startOpenFGA},
}

// A start is what a server is started with.
type start struct {
	binary string
	dir    string // of its own
	secure *tls.Config
	cert   string // path without .pem and .key; "" for plain HTTP
}

// build makes the binary of a peer in a folder.
func (p *peer) build(ctx context.Context, module, dir string) (string, error) {
	binary := filepath.Join(dir, p.folder)
	command := exec.CommandContext(ctx, "go", "build", "-C", module, "-o", binary, p.command)
	command.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
	if printed, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, lastLine(printed))
	}
	return binary, nil
}

// version is that of a peer in its go.mod.
func (p *peer) version(module string) (string, error) {
	text, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		return "", err
	}
	root := strings.TrimSuffix(p.command, "/cmd/"+p.folder)
	found := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(root) + ` (v\S+)`).FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("%s/go.mod does not say which version of %s it has", module, root)
	}
	return string(found[1]), nil
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// certificates makes a certificate for all servers below dir, and returns its path and what clients need to trust it.
func certificates(dir string) (path string, secure *tls.Config, err error) {
	const name = "localhost"
	if err := certificate.Make(dir, "authority", name); err != nil {
		return "", nil, err
	}
	pool, err := poolOf(filepath.Join(dir, "authority.pem"))
	if err != nil {
		return "", nil, err
	}
	return filepath.Join(dir, name), &tls.Config{RootCAs: pool, ServerName: name, MinVersion: tls.VersionTLS13}, nil
}

func startBailiff(ctx context.Context, s *start) (*server, error) {
	policy := filepath.Join(s.dir, "policy.md")
	if err := writePolicy("warranty.md", policy, ""); err != nil {
		return nil, err
	}
	setting := &player.Setting{Binary: s.binary, Policy: policy, Dir: s.dir, TLS: s.secure}
	if s.cert != "" {
		setting.Environment = []string{"SVC_TLS_CERT=" + s.cert + ".pem", "SVC_TLS_KEY=" + s.cert + ".key"}
	}
	service, err := player.StartService(ctx, setting)
	if err != nil {
		return nil, err
	}
	return &server{
		Process: service.Process, name: bailiff,
		request: func(q *question) (string, string, []byte) {
			return "/v1/authorize/test-run", service.APIKey, q.forBailiff()
		},
		read: func(status int, body []byte) (bool, error) {
			var a player.Answer
			if err := json.Unmarshal(body, &a); err != nil {
				return false, err
			}
			return a.Status == "ALLOWED", refuse(status != 200 && status != 403 || a.Status != "ALLOWED" && a.Status != "DENIED", status, body)
		},
	}, nil
}

// refuse is the error of an answer that is neither yes nor no.
func refuse(wrong bool, status int, body []byte) error {
	if wrong {
		return fmt.Errorf("status %d, neither yes nor no: %.300s", status, body)
	}
	return nil
}

// answerIn reads answers that are one boolean member of an object.
func answerIn(member string) func(status int, body []byte) (bool, error) {
	return func(status int, body []byte) (bool, error) {
		var members map[string]any
		if err := json.Unmarshal(body, &members); err != nil {
			return false, err
		}
		allowed, known := members[member].(bool)
		return allowed, refuse(status != 200 || !known, status, body)
	}
}

// launch runs a peer, and returns when it answers a path.
func launch(ctx context.Context, s *start, name, address, health string, arguments ...string) (*player.Process, error) {
	p := &player.Process{Name: name, Address: address, TLS: s.secure, Command: exec.Command(s.binary, arguments...)}
	p.Command.Env, p.Command.Dir = player.Environment(0, "DO_NOT_TRACK=1"), s.dir
	if err := p.Start(); err != nil {
		return nil, err
	}
	if err := p.Await(ctx, health); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

func startOPA(ctx context.Context, s *start) (*server, error) {
	policy := filepath.Join(s.dir, "allow.rego")
	if err := writePolicy("allow.rego", policy, `"`); err != nil {
		return nil, err
	}
	address, err := port.FreeAddress()
	if err != nil {
		return nil, err
	}
	arguments := []string{"run", "--server", "--addr", address, "--log-level", "error", "--disable-telemetry", policy}
	if s.cert != "" {
		arguments = append(arguments, "--tls-cert-file", s.cert+".pem", "--tls-private-key-file", s.cert+".key")
	}
	p, err := launch(ctx, s, "OPA", address, "/health", arguments...)
	if err != nil {
		return nil, err
	}
	return opa(p), nil
}

// opa is a process that speaks OPA's protocol.
func opa(p *player.Process) *server {
	return &server{
		Process: p, name: "OPA",
		request: func(q *question) (string, string, []byte) { return "/v1/data/bench/allow", "none", q.forOPA() },
		read:    answerIn("result"),
	}
}

func startCerbos(ctx context.Context, s *start) (*server, error) {
	policy := filepath.Join(s.dir, "policies")
	if err := writePolicy("cerbos/intent.yaml", filepath.Join(policy, "intent.yaml"), `"`); err != nil {
		return nil, err
	}
	address, err := port.FreeAddress()
	if err != nil {
		return nil, err
	}
	internal, err := port.FreeAddress()
	if err != nil {
		return nil, err
	}
	configuration := object{
		"server":    object{"httpListenAddr": address, "grpcListenAddr": internal},
		"storage":   object{"driver": "disk", "disk": object{"directory": policy}},
		"telemetry": object{"disabled": true},
		"audit":     object{"enabled": false},
	}
	if s.cert != "" {
		configuration["server"].(object)["tls"] = object{"cert": s.cert + ".pem", "key": s.cert + ".key"}
	}
	file := filepath.Join(s.dir, "cerbos.json") // YAML, too
	if err := os.WriteFile(file, encode(configuration), 0o600); err != nil {
		return nil, err
	}
	p, err := launch(ctx, s, "Cerbos", address, "/_cerbos/health", "server", "--config", file, "--log-level", "error")
	if err != nil {
		return nil, err
	}
	return &server{
		Process: p, name: "Cerbos",
		request: func(q *question) (string, string, []byte) { return "/api/check/resources", "none", q.forCerbos() },
		read: func(status int, body []byte) (bool, error) {
			var a struct {
				Results []struct{ Actions map[string]string }
			}
			if err := json.Unmarshal(body, &a); err != nil {
				return false, err
			}
			if status == 200 && len(a.Results) == 1 {
				for _, effect := range a.Results[0].Actions {
					return effect == "EFFECT_ALLOW", refuse(effect != "EFFECT_ALLOW" && effect != "EFFECT_DENY", status, body)
				}
			}
			return false, refuse(true, status, body)
		},
	}, nil
}

func startOpenFGA(ctx context.Context, s *start) (*server, error) {
	address, err := port.FreeAddress()
	if err != nil {
		return nil, err
	}
	internal, err := port.FreeAddress()
	if err != nil {
		return nil, err
	}
	arguments := []string{
		"run", "--datastore-engine", "memory", "--http-addr", address, "--grpc-addr", internal, "--playground-enabled=false",
		"--metrics-enabled=false", "--log-level", "none",
	}
	if s.cert != "" {
		arguments = append(arguments, "--http-tls-enabled", "--http-tls-cert", s.cert+".pem", "--http-tls-key", s.cert+".key")
	}
	p, err := launch(ctx, s, "OpenFGA", address, "/healthz", arguments...)
	if err != nil {
		return nil, err
	}
	store, model, err := fill(ctx, p)
	if err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return &server{
		Process: p, name: "OpenFGA",
		request: func(q *question) (string, string, []byte) {
			return "/stores/" + store + "/check", "none", q.forOpenFGA(model)
		},
		read: answerIn("allowed"),
	}, nil
}

// fill makes a store in OpenFGA, with the model and the tuples.
func fill(ctx context.Context, p *player.Process) (store, model string, err error) {
	text, err := policies.ReadFile("policy/model.json")
	if err != nil {
		return "", "", err
	}
	var made struct {
		ID    string `json:"id"`
		Model string `json:"authorization_model_id"`
	}
	post := func(path string, body []byte) error {
		status, answer, err := p.Post(ctx, path, "none", body)
		if err == nil && status/100 != 2 {
			err = fmt.Errorf("%s: status %d: %.300s", path, status, answer)
		}
		if err == nil {
			err = json.Unmarshal(answer, &made)
		}
		return err
	}
	if err := post("/stores", encode(object{"name": "bench"})); err != nil {
		return "", "", err
	}
	store = made.ID
	if err := post("/stores/"+store+"/authorization-models", text); err != nil {
		return "", "", err
	}
	model = made.Model
	return store, model, post("/stores/"+store+"/write", encode(object{"authorization_model_id": model, "writes": object{"tuple_keys": tuples()}}))
}
