package pebbleledger

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// A logger is what Pebble reports to.
type logger struct {
	fail   func(error) // of the log, or of the index
	errorf func(format string, args ...any)
}

var _ pebble.Logger = (*logger)(nil)

// Infof drops what Pebble tells about its housekeeping.
func (*logger) Infof(string, ...any) {}

// Errorf passes on what went wrong.
func (l *logger) Errorf(format string, args ...any) {
	if l.errorf != nil {
		l.errorf(format, args...)
	}
}

// Fatalf must not return: Pebble counts on the process being gone. Under a method of log or index it panics, and that
// method recovers. In a goroutine of Pebble's own, where a panic would end the process with everybody waiting, it makes the
// ledger refuse everything, or the index of no use, and stays. Whatever locks that goroutine holds are held until the process ends; Close
// knows.
func (l *logger) Fatalf(format string, args ...any) {
	err := fmt.Errorf("fatal: "+format, args...)
	l.Errorf("%v", err)
	if underLog() {
		panic(err)
	}
	l.fail(fmt.Errorf("ledger: pebble: %w", err))
	select {}
}

// damaged is fatal, as Pebble has it of a file that is not what was written. Its own words for that hold the stack.
func (l *logger) damaged(info pebble.DataCorruptionInfo) {
	l.Fatalf("%s is damaged: %v", info.Path, info.Details)
}

// recovering has what is in the names of functions that recover, or that run under one that does.
var recovering = []string{"/ledger/pebble.(*log).", "/ledger/pebble.(*index).", "/ledger/pebble.openAs"}

// underLog reports whether a method of log or index is on this goroutine's stack.
func underLog() bool { return onStack(recovering...) }

// onStack reports whether the name of a function on this goroutine's stack has one of these parts.
func onStack(parts ...string) bool {
	var callers [128]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers[:])])
	for {
		frame, more := frames.Next()
		if slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(frame.Function, part) }) {
			return true
		}
		if !more {
			return false
		}
	}
}
