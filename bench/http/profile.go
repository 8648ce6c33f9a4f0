package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"
)

// profiled runs work and writes what it took of this process's time to dir/name.pprof, or nothing where dir is "".
func profiled(dir, name string, work func() error) (err error) {
	if dir == "" {
		return work()
	}
	file, err := os.Create(profilePath(dir, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := pprof.StartCPUProfile(file); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return work()
}

func profilePath(dir, name string) string { return filepath.Join(dir, name+".pprof") }

// measureProfiles drives every target in turn, and writes profiles of the service by target, and of this process; the
// floors write their own.
func measureProfiles(ctx context.Context, o *options, p *players, out io.Writer) error {
	return profiled(o.profiles, "client", func() error {
		for _, t := range []*target{p.decode, p.testRun, p.denied, p.sign, p.allowed} {
			fetched := make(chan error, 1)
			if t.server == p.service.process {
				go func() { fetched <- p.service.profile(ctx, profilePath(o.profiles, "service-"+t.name), o.measure) }()
			} else {
				fetched <- nil
			}
			_, err := phase(ctx, o, t, out, nil)
			if err := errors.Join(err, <-fetched); err != nil {
				return err
			}
		}
		return nil
	})
}

// profile writes to path what the service did for a while, in whole seconds.
func (s *service) profile(ctx context.Context, path string, length time.Duration) error {
	url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", s.admin, max(1, int(length.Seconds())))
	body, err := fetch(ctx, url)
	if err != nil {
		return err
	}
	return os.WriteFile(path, body, 0o644)
}

// fetch returns the body at url.
func fetch(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
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
		err = fmt.Errorf("%s: %s", url, response.Status)
	}
	return body, err
}
