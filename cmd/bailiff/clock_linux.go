package main

import "syscall"

// clockAdrift reports whether the system says that nothing keeps its clock in step.
func clockAdrift() bool {
	const unsynchronised = 5 // TIME_ERROR of adjtimex(2)
	var state syscall.Timex
	status, err := syscall.Adjtimex(&state)
	return err == nil && status == unsynchronised
}
