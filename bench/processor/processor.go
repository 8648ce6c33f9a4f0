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

// Time returns the processor time that a process has taken so far, or 0 where the system does not tell it as
// Linux does (proc(5): fields 14 and 15 of /proc/PID/stat, the second of which is the name in parentheses).
func Time(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(string(fields[11]), 10, 64)
	system, _ := strconv.ParseInt(string(fields[12]), 10, 64)
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
