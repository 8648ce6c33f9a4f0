package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"bailiff/bench"
	"bailiff/bench/load"
	"bailiff/bench/player"
)

// A field is all that takes part in a run.
type field struct {
	peers     []peerResult
	modes     []*mode
	processes []*player.Process
}

// A mode is the servers as they are asked in one way: plain or with TLS.
type mode struct {
	tls     bool
	servers []*server
	entries []*entry
}

// An entry is one kind of answer of one server, and the connections that ask for it.
type entry struct {
	*player.Target
	row *row
}

// assemble builds the peers and starts everything. A peer that can't be built is left out, with the reason.
func assemble(ctx context.Context, o *options, folder string, out io.Writer) (*field, error) {
	f := new(field)
	service, err := filepath.Abs(o.service)
	if err != nil {
		return f, err
	}
	built, err := filepath.Abs(o.built)
	if err != nil {
		return f, err
	}
	binaries := map[string]string{}
	for _, p := range peers {
		module := filepath.Join(o.modules, p.folder)
		result := peerResult{Name: p.name, Stores: p.stores}
		if result.Version, err = p.version(module); err != nil {
			return f, err
		}
		if binaries[p.name], err = p.build(ctx, module, built); err != nil {
			result.LeftOut = err.Error()
			fmt.Fprintf(out, "%s is left out: %v\n", p.name, err)
		}
		f.peers = append(f.peers, result)
	}
	path, secure, err := certificates(folder)
	if err != nil {
		return f, err
	}
	for _, m := range []*mode{{tls: false}, {tls: true}} {
		f.modes = append(f.modes, m)
		s := start{binary: service}
		if m.tls {
			s.cert, s.secure = path, secure
		}
		if err := f.start(ctx, m, s, folder, binaries); err != nil {
			return f, err
		}
		if err := m.connect(o.connections); err != nil {
			return f, err
		}
	}
	if !o.floors {
		return f, nil
	}
	return f, f.startFloors(ctx, o, folder)
}

// start starts the service and every peer that has a binary.
func (f *field) start(ctx context.Context, m *mode, s start, folder string, binaries map[string]string) error {
	begin := func(name string, with func(context.Context, *start) (*server, error)) error {
		own := s
		own.dir = filepath.Join(folder, fmt.Sprintf("%s-%t", name, m.tls))
		if err := os.Mkdir(own.dir, 0o700); err != nil {
			return err
		}
		one, err := with(ctx, &own)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		f.processes, m.servers = append(f.processes, one.Process), append(m.servers, one)
		return nil
	}
	if err := begin(bailiff, startBailiff); err != nil {
		return err
	}
	for _, p := range peers {
		if s.binary = binaries[p.name]; s.binary == "" {
			continue
		}
		if err := begin(p.name, p.start); err != nil {
			return err
		}
	}
	return nil
}

// The kinds of answers.
const (
	testRun = "test-run"
	denied  = "denied"
	allowed = "allowed"
)

// connect opens the connections of every entry.
func (m *mode) connect(connections int) error {
	for _, s := range m.servers {
		for _, kind := range []string{testRun, denied, allowed} {
			q := &allowedQuestion
			if kind == denied {
				q = &deniedQuestion
			}
			path, key, body := s.request(q)
			expect := s.expectation(kind == allowed)
			switch {
			case s.name != bailiff && kind == testRun:
				continue
			case s.name == bailiff && kind == testRun:
				expect = player.ExpectTestRun
			case s.name == bailiff && kind == denied:
				path, expect = "/v1/authorize", expectDenied
			case s.name == bailiff:
				path, expect = "/v1/authorize", player.ExpectSigned
			}
			if err := m.add(s.name, kind, s.Process, load.Render(path, s.Address, key, string(body)), expect, connections); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *mode) add(name, kind string, p *player.Process, request []byte, expect player.Expectation, connections int) error {
	target, err := player.NewTarget(name+", "+kind, p, request, expect, connections)
	if err != nil {
		return err
	}
	m.entries = append(m.entries, &entry{Target: target, row: &row{Server: name, Answer: kind, TLS: m.tls}})
	return nil
}

// expectation is that of a peer's answer.
func (s *server) expectation(want bool) player.Expectation {
	return player.Expectation{Status: "200", Body: func(body []byte) error {
		got, err := s.read(200, body)
		if err == nil && got != want {
			err = errors.New("the answer is not the expected one")
		}
		return err
	}}
}

// expectDenied is the service's answer to deniedQuestion.
var expectDenied = player.ExpectAnswer("403", func(a *player.Answer) bool {
	return a.Status == "DENIED" && a.Code == "SVC_POLICY_VIOLATION_TOKEN_AMOUNT_EXCEEDED" && a.Attestation == nil && !a.TestRun
})

// startFloors starts the floors of bench/http, which speak no TLS.
func (f *field) startFloors(ctx context.Context, o *options, folder string) error {
	program := filepath.Join(folder, "floors")
	if printed, err := exec.CommandContext(ctx, "go", "build", "-o", program, "bailiff/bench/http").CombinedOutput(); err != nil {
		return fmt.Errorf("building the floors: %w\n%s", err, printed)
	}
	for _, one := range []struct {
		kind, answer string
		expect       player.Expectation
	}{
		{"decode", testRun, player.ExpectTestRun}, {"keep", denied, player.ExpectTestRun}, {"sign", allowed, player.ExpectSigned},
	} {
		p, err := player.StartFloor(program, one.kind, 0, folder)
		if err != nil {
			return err
		}
		f.processes = append(f.processes, p)
		request := load.Render("/v1/authorize", p.Address, "none", bench.AllowedIntent)
		if err := f.modes[0].add(floor, one.answer, p, request, one.expect, o.connections); err != nil {
			return err
		}
	}
	return nil
}

// stop closes the connections and ends the processes, whatever of it there is.
func (f *field) stop() error {
	var faults []error
	for _, m := range f.modes {
		for _, e := range m.entries {
			faults = append(faults, e.Close())
		}
	}
	for _, p := range f.processes {
		faults = append(faults, p.Stop())
	}
	return errors.Join(faults...)
}
