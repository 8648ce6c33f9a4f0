package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"bailiff/fuzz/kit/seed"
)

// A suite is the tests of a package that may find mutants: those whose name matches, with further arguments of the binary.
type suite struct {
	folder    string
	tests     string // a pattern, and one of subtests after a slash; all where it is ""
	arguments []string
	without   []string // tests that look at what the copy with mutants has otherwise, such as memory
	binary    string
}

// A job is one test of a suite, or one part of a long one.
type job struct {
	*suite
	pattern string // of -test.run
	takes   time.Duration
	reaches []byte // one byte a mutant, 1 where it was reached
}

// A lab has what runs are made with.
type lab struct {
	root, dir string // of the project, and for what runs leave
	overlay   string
	mutants   int
	patience  time.Duration
	reasons   map[string]string // of mutants that are reviewed
}

// splitFrom is how long a test takes at least, if its subtests are to run one by one.
const splitFrom = 400 * time.Millisecond

// jobs builds a suite and runs each of its tests without a mutant, to see how long it takes and what it reaches.
func (l *lab) jobs(ctx context.Context, s *suite, number int) (jobs []*job, err error) {
	s.binary = filepath.Join(l.dir, fmt.Sprintf("%d.test", number))
	build := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", l.overlay, "-o", s.binary, "./"+s.folder)
	build.Dir = l.root
	if output, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s with mutants does not build: %w\n%s", s.folder, err, output)
	}
	tests, subtests, _ := strings.Cut(s.tests, "/") // -test.list looks at names of tests only
	names, err := l.run(ctx, s, -1, time.Minute, "", "-test.list", orAll(tests))
	if err != nil {
		return nil, err
	}
	for name := range strings.Lines(names.output) {
		if name = strings.TrimSpace(name); !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") && !strings.HasPrefix(name, "Example") {
			continue
		}
		if slices.Contains(s.without, name) {
			continue
		}
		pattern := "^" + name + "$"
		if subtests != "" {
			pattern += "/" + subtests
		}
		whole, output, err := l.try(ctx, s, pattern)
		if err != nil {
			return nil, err
		}
		if whole == nil {
			continue
		}
		parts := partsOf(name, output)
		if whole.takes < splitFrom || len(parts) < 2 {
			jobs = append(jobs, whole)
			continue
		}
		for _, part := range parts {
			j, _, err := l.try(ctx, s, "^"+name+"$/^"+regexp.QuoteMeta(part)+"$")
			if err != nil {
				return nil, err
			}
			if j != nil {
				jobs = append(jobs, j)
			}
		}
		jobs = append(jobs, whole) // what its parts find only together
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("%s has no tests by the pattern %q", s.folder, orAll(s.tests))
	}
	return jobs, nil
}

func orAll(pattern string) string {
	if pattern == "" {
		return "."
	}
	return pattern
}

// partsOf are the subtests of a test in its output.
func partsOf(name, output string) (parts []string) {
	pattern := regexp.MustCompile(`(?m)^    --- PASS: ` + regexp.QuoteMeta(name) + `/(\S+) `)
	for _, found := range pattern.FindAllStringSubmatch(output, -1) {
		if !strings.Contains(found[1], "/") {
			parts = append(parts, found[1])
		}
	}
	return parts
}

// try runs a test without a mutant, in which it has to pass. A part of a test that does not pass alone is not a job.
func (l *lab) try(ctx context.Context, s *suite, pattern string) (*job, string, error) {
	reached := filepath.Join(l.dir, "reached")
	if err := os.WriteFile(reached, make([]byte, max(l.mutants, 1)), 0o600); err != nil {
		return nil, "", err
	}
	const longest = 10 * time.Minute
	began := time.Now()
	r, err := l.run(ctx, s, -1, longest, reached, "-test.v", "-test.run", pattern)
	if err != nil {
		return nil, "", err
	}
	if (r.failed || r.late) && strings.Contains(pattern, "/") {
		return nil, "", nil // the test looks at all of its parts
	}
	if r.failed || r.late {
		return nil, "", fmt.Errorf("%s: %s fails without a mutant, in the copy that has all\n%s", s.folder, pattern, lastLines(r.output))
	}
	j := &job{suite: s, pattern: pattern, takes: time.Since(began)}
	j.reaches, err = os.ReadFile(reached)
	return j, r.output, err
}

// A run is what came of one run of a binary.
type run struct {
	output string
	failed bool
	late   bool // it took too long, or too much memory
}

// run runs a suite's binary with a mutant, or with none below 0.
func (l *lab) run(ctx context.Context, s *suite, mutant int, longest time.Duration, reached string, arguments ...string) (run, error) {
	scratch, err := os.MkdirTemp(l.dir, "run-")
	if err != nil {
		return run{}, err
	}
	defer os.RemoveAll(scratch)
	limited, stop := context.WithTimeout(ctx, longest)
	defer stop()
	command := exec.CommandContext(limited, s.binary, slices.Concat(arguments, s.arguments)...)
	command.Dir = filepath.Join(l.root, filepath.FromSlash(s.folder))
	command.Env = append(os.Environ(), seed.Variable+"=1", "TMPDIR="+scratch, "BAILIFF_MUTANTS_REACHED="+reached, "BAILIFF_MUTANT=")
	if mutant >= 0 {
		command.Env = append(command.Env, fmt.Sprintf("BAILIFF_MUTANT=%d", mutant))
	}
	// What a test starts ends with it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = time.Second
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	ended := command.Run()
	if ctx.Err() != nil {
		return run{}, ctx.Err()
	}
	var exit *exec.ExitError
	if ended != nil && !errors.As(ended, &exit) && !errors.Is(ended, context.DeadlineExceeded) && !errors.Is(ended, exec.ErrWaitDelay) {
		return run{}, ended
	}
	text := output.String()
	late := limited.Err() != nil || strings.Contains(text, "fatal error: runtime: out of memory") || strings.Contains(text, "fatal error: runtime: cannot allocate memory")
	return run{text, ended != nil && !late, late}, nil
}

// lastLines is the end of an output.
func lastLines(text string) string {
	const most = 1500
	return text[max(len(text)-most, 0):]
}
