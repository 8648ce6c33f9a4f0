//go:build !linux

package bash

import "errors"

// A Sandbox runs commands, one after the other. There is one for Linux only.
type Sandbox struct{}

// ErrNoBash says that there is no bash to run in a sandbox.
var ErrNoBash = errors.New("there is no sandbox for bash on this system")

// NewSandbox returns ErrNoBash.
func NewSandbox() (*Sandbox, error) { return nil, ErrNoBash }

// Run is never called.
func (*Sandbox) Run(string) (bool, error) { return false, ErrNoBash }

// Close does nothing.
func (*Sandbox) Close() error { return nil }

// Serve returns at once.
func Serve() {}
