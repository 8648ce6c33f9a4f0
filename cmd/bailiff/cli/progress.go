package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"bailiff/runtime/clock"
)

// progressAfter is how long a command works before it says how far it is, and how often it does then.
const progressAfter = time.Second

// ProgressFlag is what the commands that may take long have in common.
type ProgressFlag struct {
	Progress bool `help:"Print progress to standard error, even where that is not a terminal."`
}

// Start returns what says how far a command is, for a person: on a terminal, or where the flag asks for it. Elsewhere it says nothing.
func (f ProgressFlag) Start(std Streams, what string) *Progress {
	p := &Progress{what: what, began: clock.System()()}
	file, isFile := std.Err.(*os.File)
	if f.Progress || isFile && term.IsTerminal(int(file.Fd())) {
		p.on = std.Err
	}
	p.last = p.began
	return p
}

// A Progress says how far a command is.
type Progress struct {
	on          io.Writer // nil: nothing is said
	what        string
	began, last time.Time
}

// Reached says how far the command is, at most once a second.
func (p *Progress) Reached(where string, arguments ...any) {
	now := clock.System()()
	if p.on == nil || now.Sub(p.last) < progressAfter {
		return
	}
	p.last = now
	fmt.Fprintf(p.on, "bailiff: %s: %s\n", p.what, fmt.Sprintf(where, arguments...))
}

// Working says each second for how long the command has worked, until the function that it returns is called.
func (p *Progress) Working() (done func()) {
	if p.on == nil {
		return func() {}
	}
	ended, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		tick := time.NewTicker(progressAfter)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.Reached("%d seconds so far", int(clock.System()().Sub(p.began).Seconds()))
			case <-ended:
				return
			}
		}
	}()
	return func() { close(ended); <-left }
}
