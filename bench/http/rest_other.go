//go:build !linux

package main

import "time"

// rest sleeps.
func rest(d time.Duration) { time.Sleep(d) }
