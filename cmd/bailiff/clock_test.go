package main

import (
	"os"
	"strings"
	"time"

	"bailiff/cmd/bailiff/serve"
	"bailiff/runtime/clock"
)

// wallFile names the variable of a file that says how far the wall was set ahead, and by whom it is kept in step, so that a test can
// set the clock of a service that is a process of its own.
const wallFile = "TEST_WALL"

// mainOnWall is main on a machine whose clock is set by a file: a duration, and "synchronised" where a time service set it.
func mainOnWall() {
	if path := os.Getenv(wallFile); path != "" {
		read := func() (ahead time.Duration, synchronised bool) {
			text, _ := os.ReadFile(path)
			words := strings.Fields(string(text) + " 0s")
			ahead, _ = time.ParseDuration(words[0])
			return ahead, strings.Contains(string(text), "synchronised")
		}
		serve.TimeSources = func() clock.Sources {
			sources := clock.SystemSources()
			now := sources.Now
			sources.Now = func() (time.Time, time.Duration) {
				ahead, _ := read()
				wall, elapsed := now()
				return wall.Add(ahead), elapsed
			}
			sources.Synchronised = func() bool { _, synchronised := read(); return synchronised }
			return sources
		}
	}
	main()
}
