// Package processor reads how much processor time and memory another process has used.
package processor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"
)

// tick is the unit of times in /proc: USER_HZ is 100 on every Linux.
const tick = 10 * time.Millisecond

// The fields of /proc/PID/stat that have processor times in user and in system mode, counted from the one after the name (proc(5):
// fields 14 to 17, and the name, field 2, is in parentheses).
const (
	ownTime   = 11 // of the process
	endedTime = 13 // of its children that have ended
)

// Time returns the processor time that a process has taken so far, or 0 where the system does not tell it as Linux does.
func Time(pid int) time.Duration { return times(pid, ownTime) }

// TimeOfEnded returns the same of the process's children that have ended.
func TimeOfEnded(pid int) time.Duration { return times(pid, endedTime) }

func times(pid, field int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < field+2 {
		return 0
	}
	user, _ := strconv.ParseInt(string(fields[field]), 10, 64)
	system, _ := strconv.ParseInt(string(fields[field+1]), 10, 64)
	return time.Duration(user+system) * tick
}

// Resident is the resident memory of a process in bytes (proc(5), status).
func Resident(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(text)
	if found == nil {
		return 0, errors.New("the system does not tell the resident memory")
	}
	kilo, err := strconv.ParseInt(string(found[1]), 10, 64)
	return kilo << 10, err
}
