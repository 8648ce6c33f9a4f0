package main

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// A substitute takes the place of the test that package pgtest starts its servers for.
type substitute struct {
	testing.TB
	end []func()
}

// alone runs what needs a test without one, and returns what that test would have failed with.
func alone(does func(testing.TB) error) (err error) {
	s := new(substitute)
	defer func() {
		if failure := recover(); failure != nil {
			said, isFailure := failure.(failed)
			if !isFailure {
				panic(failure)
			}
			err = errors.New(string(said))
		}
	}()
	defer func() {
		for _, end := range slices.Backward(s.end) {
			end()
		}
	}()
	return does(s)
}

// failed is what ends such a test.
type failed string

// Helper implements testing.TB.
func (s *substitute) Helper() {}

// Cleanup implements testing.TB.
func (s *substitute) Cleanup(end func()) { s.end = append(s.end, end) }

// Logf implements testing.TB.
func (s *substitute) Logf(string, ...any) {}

// Fatal implements testing.TB.
func (s *substitute) Fatal(said ...any) { panic(failed(fmt.Sprint(said...))) }

// Fatalf implements testing.TB.
func (s *substitute) Fatalf(format string, said ...any) { panic(failed(fmt.Sprintf(format, said...))) }

// Skipf implements testing.TB: a benchmark that cannot be run has failed.
func (s *substitute) Skipf(format string, said ...any) { s.Fatalf(format, said...) }
