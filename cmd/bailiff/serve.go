package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"bailiff/grammar"
	"bailiff/httpd"
	"bailiff/runtime/attest"
	"bailiff/runtime/authority"
	"bailiff/runtime/intent"
	"bailiff/runtime/ledger"
)

// shutdownTimeout bounds how long what is in flight may take to finish.
const shutdownTimeout = 20 * time.Second

// collectAtPercent is how far the heap grows before it is collected, unless GOGC says otherwise. What lives is small,
// the counters of some keys; what a request leaves behind is cheaper to collect seldom.
const collectAtPercent = 800

type serveCommand struct{}

// Help lists the environment variables.
func (c *serveCommand) Help() string { return settingsHelp() }

// Run serves until SIGTERM or SIGINT.
func (c *serveCommand) Run(std streams) error {
	s, err := readSettings(os.Environ())
	if err != nil {
		return startup("%v", err)
	}
	log := slog.New(slog.NewTextHandler(std.err, nil))
	for _, name := range unknownSettings(os.Environ()) {
		log.Warn("unknown setting is ignored", "name", name)
	}
	return serve(s, log, func(*service) error { return nil })
}

// startup is an error in the form of the specification's startup errors; the process exits with 1.
func startup(format string, arguments ...any) error {
	return &exit{code: exitFailed, message: fmt.Sprintf("[Svc] "+format, arguments...), plain: true}
}

// service is a service that runs.
type service struct {
	settings settings
	log      *slog.Logger
	ledger   ledger.Ledger
	admin    *authority.Admin
	policy   *authority.Policy
	servers  []server
	address  string // where the API is
}

// server is one of the service's HTTP servers with its listener.
type server struct {
	http interface {
		Serve(net.Listener) error
		Shutdown(context.Context) error
	}
	listener net.Listener
}

// serve starts the service, calls ready, and runs it until a signal comes or it fails.
func serve(s settings, log *slog.Logger, ready func(*service) error) error {
	if os.Getenv("GOMAXPROCS") == "" {
		// One processor is stuck in fdatasync at nearly all times; twice the cores keep the others busy.
		runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0))
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAtPercent)
	}
	signals, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	running, err := start(s, log)
	if err != nil {
		return err
	}
	if err := ready(running); err != nil {
		return errors.Join(err, running.close())
	}
	return running.run(signals, stop)
}

// start opens everything that a service needs. What fails here is a startup error.
func start(s settings, log *slog.Logger) (*service, error) {
	policy, err := bootPolicy(s)
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{s["SVC_DATA_DIR"], s["SVC_KEY_DIR"]} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, startup("%v", err)
		}
	}
	signer, err := attest.LoadOrCreate(s["SVC_KEY_DIR"], rand.Reader)
	if err != nil {
		return nil, startup("signing keys: %v", err)
	}
	l, err := openLedger(s, func(format string, arguments ...any) {
		log.Error("store", "message", fmt.Sprintf(format, arguments...))
	})
	if err != nil {
		return nil, startup("%v", err)
	}
	running := &service{settings: s, log: log, ledger: l, policy: policy}
	if err := running.listen(signer); err != nil {
		return nil, errors.Join(startup("%v", err), running.close())
	}
	return running, nil
}

// bootPolicy loads the policy that governs every key, or says in the specification's words why it can't.
func bootPolicy(s settings) (*authority.Policy, error) {
	if s["SVC_OPERATOR_PUBLIC_KEY"] == "" {
		return nil, startup("SVC_OPERATOR_PUBLIC_KEY is not set.")
	}
	operator, err := attest.ParseOperatorKey(s["SVC_OPERATOR_PUBLIC_KEY"])
	if err != nil {
		return nil, startup("SVC_OPERATOR_PUBLIC_KEY: %v", err)
	}
	path := s["WARRANTY_PATH"]
	text, err := readFile(path, grammar.MaxBytes)
	if err != nil {
		return nil, startup("the policy %v; WARRANTY_PATH names it", err)
	}
	src := grammar.NewSource(path, text)
	policy, err := authority.LoadPolicy(src, operator)
	var invalid *authority.InvalidPolicy
	if errors.As(err, &invalid) {
		var report []byte
		for _, d := range invalid.Diagnostics {
			report = append(append(report, '\n'), src.Render(d)...)
		}
		return nil, startup("%s: %v%s", path, err, report)
	}
	if err != nil {
		return nil, startup("%s: %v; sign it with: bailiff sign --key operator.key %s", path, err, path)
	}
	return policy, nil
}

// listen makes the authority and its servers, and opens their listeners.
func (r *service) listen(signer *attest.Signer) error {
	s, clock := r.settings, authority.SystemClock()
	decider, err := authority.New(authority.Config{
		Ledger: r.ledger, Signer: signer, Policy: r.policy, Environment: s["SVC_ENV"], Issuer: s["SVC_ISSUER"],
		Observe: s["SVC_MODE"] == "OBSERVE", Options: intent.Options{IntegerAmountsBase: s["SVC_INTEGER_AMOUNTS"] == "base"},
		Clock: clock, Random: rand.Reader, Log: r.log,
	})
	if err != nil {
		return err
	}
	r.admin = &authority.Admin{Ledger: r.ledger, Environment: s["SVC_ENV"], Clock: clock, Random: rand.Reader}
	api, err := net.Listen("tcp", s["SVC_LISTEN"])
	if err != nil {
		return fmt.Errorf("SVC_LISTEN: %w", err)
	}
	r.address = api.Addr().String()
	r.servers = append(r.servers, server{httpd.New(decider, r.log, commit()), api})
	socket, err := listenPrivate(s.adminSocket())
	if err != nil {
		return fmt.Errorf("the admin socket: %w", err)
	}
	r.servers = append(r.servers, server{httpd.NewAdmin(r.admin, r.log), socket})
	return nil
}

// maxSocketPath is the longest path of a Unix socket on Linux, in bytes.
const maxSocketPath = 107

// listenPrivate listens on a Unix socket that only this user can open. One that an earlier process left is
// replaced: whoever holds the ledger owns the data folder.
func listenPrivate(path string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("its path %s has %d bytes, and %d are the most; use a shorter SVC_DATA_DIR", path, len(path), maxSocketPath)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != os.ModeSocket {
		return nil, fmt.Errorf("%s is in the way and is no socket; move it elsewhere", path)
	} else if err == nil {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	defer syscall.Umask(syscall.Umask(0o177))
	return net.Listen("unix", path)
}

// run serves until signals ends or a server fails, then finishes what is in flight. From then on stop has left signals
// to do what they do by default.
func (r *service) run(signals context.Context, stop func()) error {
	failed := make(chan error, len(r.servers))
	for _, one := range r.servers {
		go func() { failed <- one.http.Serve(one.listener) }()
	}
	r.announce()
	var fault error
	select {
	case <-signals.Done():
		r.log.Info("stopping; a second signal ends at once")
		stop()
	case fault = <-failed:
	}
	return errors.Join(fault, r.close())
}

// announce says at start what is served, and what an operator should know about it.
func (r *service) announce() {
	s := r.settings
	mode := "enforce"
	if s["SVC_MODE"] == "OBSERVE" {
		mode = "OBSERVE"
	}
	r.log.Info("serving", "hosting", "self-hosted", "mode", mode, "address", r.address, "environment", s["SVC_ENV"], "policy", s["WARRANTY_PATH"], "policyHash", r.policy.Hash)
	for _, warning := range r.policy.Warnings {
		r.log.Warn("policy", "code", warning.Code, "message", warning.Message)
	}
	if mode == "OBSERVE" {
		r.log.Warn("OBSERVE mode: what the policy denies is approved; nothing is enforced")
	}
	if s["SVC_INTEGER_AMOUNTS"] == "base" {
		r.log.Warn("amounts without a point are read as base units")
	}
}

// close stops the servers, then the ledger, which makes durable what was submitted.
func (r *service) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	var faults []error
	for _, one := range r.servers {
		faults = append(faults, one.http.Shutdown(ctx))
		one.listener.Close() // closed already, unless its server never ran
	}
	return errors.Join(append(faults, r.ledger.Close())...)
}

// commit is the full id of the commit that this build is bound to; empty where it was built from none, or from
// a tree that had changed since.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	values := map[string]string{}
	for _, setting := range info.Settings {
		values[setting.Key] = setting.Value
	}
	if values["vcs.modified"] == "true" {
		return ""
	}
	return values["vcs.revision"]
}
