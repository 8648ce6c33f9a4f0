// Command profile merges CPU profiles into the one by which the Go compiler inlines hot calls (default.pgo, which `go build`
// finds beside a main package):
//
//	profile OUT PROFILE…
//
// It keeps what the compiler reads, functions and the lines of their calls, and leaves out whatever describes the machine
// that they were measured on: files, addresses, labels and times.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/google/pprof/profile"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench/profile:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) < 2 {
		return errors.New("it takes the file to write and at least one profile to read")
	}
	var profiles []*profile.Profile
	for _, path := range arguments[1:] {
		p, err := read(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		bare(p)
		profiles = append(profiles, p)
	}
	merged, err := profile.Merge(profiles)
	if err != nil {
		return err
	}
	bare(merged)
	return write(arguments[0], merged)
}

func read(path string) (*profile.Profile, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p, err := profile.Parse(file)
	if err == nil && len(p.Sample) == 0 {
		err = errors.New("nothing was measured: the process was idle, or the profile too short")
	}
	return p, err
}

// bare takes from a profile what the compiler has no use for.
func bare(p *profile.Profile) {
	p.Mapping, p.Comments, p.TimeNanos, p.DurationNanos = nil, nil, 0, 0
	for _, f := range p.Function {
		f.Filename = ""
	}
	for _, l := range p.Location {
		l.Mapping, l.Address = nil, 0
	}
	for _, s := range p.Sample {
		s.Label, s.NumLabel, s.NumUnit = nil, nil, nil
	}
}

func write(path string, p *profile.Profile) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(p.Write(file), file.Close())
}
