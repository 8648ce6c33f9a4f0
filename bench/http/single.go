package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"bailiff/bench"
	"bailiff/bench/load"
	"bailiff/runtime/attest"
)

// singleTurns are the single client's turns: each takes all four figures, so that drift meets all alike.
const singleTurns = 4

// single is what one client sees, and what there is no doing without, at p50 of one turn.
type single struct {
	echo, allowed, sync, sign time.Duration
}

// least is the time that an ALLOWED can't go below while it signs after, or instead of while, it syncs.
func (s single) least() time.Duration { return s.echo + s.sync + s.sign }

// measureSingle measures echo and ALLOWED with one connection each, one fdatasync and one signing.
func measureSingle(ctx context.Context, o *options, p *players) ([]single, error) {
	dir := filepath.Join(p.folder, "keys")
	signer, err := attest.LoadOrCreate(dir, rand.Reader)
	if err != nil {
		return nil, err
	}
	var turns []single
	for range singleTurns {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("interrupted: %w", err)
		}
		echo, err := p.echo.Measure(1, o.warmUp/5, o.single)
		if err != nil {
			return nil, err
		}
		allowed, err := p.allowed.Measure(1, o.warmUp/5, o.single)
		if err != nil {
			return nil, err
		}
		syncing, err := timeSync(filepath.Join(p.folder, "sync"), o.single)
		if err != nil {
			return nil, err
		}
		signing, err := timeSigning(signer, o.single)
		if err != nil {
			return nil, err
		}
		turns = append(turns, single{echo.P50, allowed.P50, syncing, signing})
	}
	return turns, nil
}

// recordBytes is about what the log takes for one decision.
const recordBytes = 512

// timeSync returns the median time of appending a record to a file and making it durable.
func timeSync(path string, length time.Duration) (time.Duration, error) {
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	record := make([]byte, recordBytes)
	return medianTime(length, func() error {
		if _, err := file.Write(record); err != nil {
			return err
		}
		return syncData(file)
	})
}

// timeSigning returns the median time of signing one attestation with both algorithms.
func timeSigning(signer *attest.Signer, length time.Duration) (time.Duration, error) {
	claims := bench.Claims()
	var token []byte
	return medianTime(length, func() (err error) {
		claims.ID[0]++
		token, err = signer.Issue(token[:0], claims)
		return err
	})
}

// medianTime calls step for a while and returns the median time that it took.
func medianTime(length time.Duration, step func() error) (time.Duration, error) {
	times := load.NewHistogram()
	for end := time.Now().Add(length); time.Now().Before(end); {
		begin := time.Now()
		if err := step(); err != nil {
			return 0, err
		}
		if err := times.RecordValue(time.Since(begin).Microseconds()); err != nil {
			return 0, err
		}
	}
	return time.Duration(times.ValueAtQuantile(50)) * time.Microsecond, nil
}
