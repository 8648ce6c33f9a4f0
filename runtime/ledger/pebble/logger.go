package pebbleledger

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// A logger is what Pebble reports to.
type logger struct {
	log    *log
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

// Fatalf must not return: Pebble counts on the process being gone. Under a method of log it panics, and that method
// recovers. In a goroutine of Pebble's own, where a panic would end the process with everybody waiting, it makes the
// ledger refuse everything, and stays. Whatever locks that goroutine holds are held until the process ends; Close
// knows.
func (l *logger) Fatalf(format string, args ...any) {
	err := fmt.Errorf("fatal: "+format, args...)
	l.Errorf("%v", err)
	if underLog() {
		panic(err)
	}
	l.log.fail(fmt.Errorf("ledger: pebble: %w", err))
	select {}
}

// damaged is fatal, as Pebble has it of a file that is not what was written. Its own words for that hold the stack.
func (l *logger) damaged(info pebble.DataCorruptionInfo) {
	l.Fatalf("%s is damaged: %v", info.Path, info.Details)
}

// underLog reports whether a method of log is on this goroutine's stack.
func underLog() bool {
	var callers [128]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers[:])])
	for {
		frame, more := frames.Next()
		if strings.Contains(frame.Function, "/ledger/pebble.(*log).") || strings.HasSuffix(frame.Function, "/ledger/pebble.openAs") {
			return true
		}
		if !more {
			return false
		}
	}
}
