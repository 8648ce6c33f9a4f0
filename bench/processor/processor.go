// Package processor reads how much processor time another process has taken.
package processor

import (
	"bytes"
	"fmt"
	"os"
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
