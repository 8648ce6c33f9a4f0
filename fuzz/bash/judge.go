package bash

import (
	"encoding/json"
	"fmt"
	"strings"

	"bailiff/fuzz/differential"
	"bailiff/fuzz/oracle"
	"bailiff/runtime/intent"
)

// Policy blocks what the stubs of the sandbox mean.
const Policy = `version: 2.0.0
## tool_calls
allowed: bash
bash.blocked_commands: mark, touch, curl, rm -rf
`

// ListPolicy allows what the sandbox has beside the stubs, so that none of those may run.
const ListPolicy = `version: 2.4.0
## tool_calls
allowed: bash
bash.allowed_commands: ":", true, false, echo, cat, printf, test, "[", "ls", f, x, a, wait, sleep, kill, find, cd, "exit", shift, find . -maxdepth 0, nonesuch, z, b, "1"
`

// A Judge decides on commands as the service does under a policy.
type Judge struct {
	bound   *differential.Bound
	machine *differential.Judge
}

// NewJudge compiles a policy. A judge serves one goroutine.
func NewJudge(policy string) (*Judge, error) {
	bound, err := differential.Compile([]byte(policy))
	if err != nil {
		return nil, err
	}
	return &Judge{bound, differential.NewJudge()}, nil
}

// Accepts reports whether the policy allows a bash intent with this command. A text that no request can carry is not
// accepted.
func (j *Judge) Accepts(command string) bool {
	text, err := json.Marshal(command)
	if err != nil || strings.ToValidUTF8(command, "") != command {
		return false
	}
	body := fmt.Sprintf(`{"framework":"f","agentId":"a","txCommit":"`+strings.Repeat("0", 64)+`","intent":{"action":"bash","command":%s}}`, text)
	verdict, err := j.machine.Machine(j.bound, []byte(body), intent.Agent)
	return err == nil && verdict.Status == oracle.Allowed
}
