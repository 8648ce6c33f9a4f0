package hosts

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// hookIn is the process of the hook where the host started process: a shell that waits for its command has it as its child.
func hookIn(process int) int {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", process, process))
	if err != nil {
		return process
	}
	for _, child := range strings.Fields(string(children)) {
		if id, err := strconv.Atoi(child); err == nil {
			return id
		}
	}
	return process
}
