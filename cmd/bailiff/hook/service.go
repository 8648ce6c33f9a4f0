package hook

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"golang.org/x/mod/semver"

	"bailiff/cmd/bailiff/cli"
	cmdclient "bailiff/cmd/bailiff/client"
	"bailiff/compiler/sections"
	"bailiff/runtime/hook/setup"
	"bailiff/runtime/ledger"
	"bailiff/vm/errcode"
)

// scopeProbes find out what an API key may do. No route tells that, so it is tried, by requests that change nothing with any key: a key without the scope
// is refused for that before the body is read (decisions, section 3).
var scopeProbes = []struct {
	scope        ledger.Scopes
	method, path string
	body         any
}{
	{ledger.ScopeDeploy, http.MethodPost, "/v1/warranty/deploy", struct{}{}}, // a deployment without a policy is refused
	{ledger.ScopeWebhooks, http.MethodGet, "/v1/webhooks", nil},
}

// checkScopes returns an error unless the key may authorize and nothing else: an agent can read the key that its hook uses.
func checkScopes(ctx context.Context, service *cmdclient.Client) error {
	var page cmdclient.EventsPage
	if err := service.Call(ctx, http.MethodGet, "/v1/events?limit=1", nil, &page); err != nil {
		return err
	}
	for _, probe := range scopeProbes {
		var answer any
		err := service.Call(ctx, probe.method, probe.path, probe.body, &answer)
		refused := cmdclient.RefusedWith(err)
		switch {
		case refused != nil && refused.HTTP == http.StatusForbidden && refused.Code == string(errcode.APIKeyScope):
		case err == nil || refused != nil && refused.HTTP == http.StatusBadRequest:
			return cli.Fail("the API key has the scope %s, and an agent can read the key that its hook uses; make one that may authorize and nothing else: bailiff keys create --email ADDRESS", probe.scope)
		default:
			return cli.Fail("whether the API key has the scope %s can't be told: %v; try again", probe.scope, err)
		}
	}
	return nil
}

// A governing policy is what a test-run tells of the policy in force.
type governing struct {
	observe bool
	denies  bool   // commands with `bailiff hook`
	named   bool   // and its denial has the command in it
	budget  string // a rule that limits what a model uses; empty for none
	spend   bool   // and it limits USD, of which hooks know nothing
}

// testRun is what is read of the answer of a test-run.
type testRun struct {
	Observe     bool `json:"observe_mode_active"`
	Explanation struct {
		Violations []struct{ Rule, Message string }
		Limits     []struct{ Rule string }
	}
}

// askPolicy asks what the policy says of the canary, by a test-run, which changes nothing.
func askPolicy(ctx context.Context, service *cmdclient.Client, agent string) (*governing, error) {
	const canary = "0000000000000000"
	request := map[string]any{
		"framework": "agent-hooks", "agentId": agent, "txCommit": strings.Repeat("0", 64),
		"intent": map[string]any{"action": "bash", "command": canaryLine("bailiff", canary), "task_id": "hook-install"},
	}
	var answer testRun
	if err := service.Call(ctx, http.MethodPost, "/v1/authorize/test-run?explain=true", request, &answer); err != nil {
		return nil, err
	}
	policy := &governing{observe: answer.Observe}
	for _, violation := range answer.Explanation.Violations {
		if !policy.denies && !strings.HasPrefix(violation.Rule, sections.ExecutionLimitsSection.Name+".") { // those come after all others
			policy.denies, policy.named = true, strings.Contains(violation.Message, canary)
		}
	}
	for _, limit := range answer.Explanation.Limits {
		if limit.Rule == sections.KeySpend.Rule || limit.Rule == sections.KeyTokens.Rule {
			policy.spend = policy.spend || limit.Rule == sections.KeySpend.Rule
			if policy.budget = limit.Rule; policy.spend {
				policy.budget = sections.KeySpend.Rule
			}
		}
	}
	return policy, nil
}

// steps says what has to be done about the policy before a hook can be seen to work.
func (p *governing) steps() []string {
	var steps []string
	if p.observe {
		steps = append(steps, "the service is in OBSERVE mode and denies nothing; bailiff hook log --summary says what it would have denied, and once that is right, start it without SVC_MODE")
	}
	if p.spend {
		steps = append(steps, "the policy has "+sections.KeySpend.Rule+", and hooks know what a task used in tokens, not in USD: calls are denied with "+string(errcode.ModelUsage)+"; give this key a policy with "+sections.KeyTokens.Rule+" in its place")
	}
	switch {
	case !p.denies:
		steps = append(steps, "the policy lets an agent run `bailiff hook uninstall`; add `bailiff hook` to tool_calls.bash.blocked_commands, or start from bailiff init --for HOST")
	case !p.named:
		steps = append(steps, "the policy denies every command, so the canary can't be told from others, and hook status can't become \"armed\"; add bash to tool_calls.allowed and `bailiff hook` to tool_calls.bash.blocked_commands")
	}
	return steps
}

// versionTime bounds how long a host may take to print its version.
const versionTime = 10 * time.Second

var versionForm = regexp.MustCompile(`\b\d+\.\d+\.\d+\b`)

// hostVersion asks an installed host for its version.
func hostVersion(host *setup.Host) (string, error) {
	if len(host.VersionOf) == 0 {
		return "", fmt.Errorf("%s is not asked for its version", host.Name)
	}
	program, err := exec.LookPath(host.VersionOf[0])
	if err != nil {
		return "", err
	}
	if os.Geteuid() == 0 && !onlyRoots(program) {
		return "", fmt.Errorf("%s can be changed by others, and root does not run it", program)
	}
	ctx, cancel := context.WithTimeout(context.Background(), versionTime)
	defer cancel()
	command := exec.CommandContext(ctx, program, host.VersionOf[1:]...)
	command.WaitDelay = time.Second
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(host.VersionOf, " "), err)
	}
	version := versionForm.Find(out[:min(len(out), 4096)])
	if version == nil {
		return "", fmt.Errorf("%s printed no version", strings.Join(host.VersionOf, " "))
	}
	return string(version), nil
}

// older reports whether a version comes before another.
func older(version, than string) bool { return semver.Compare("v"+version, "v"+than) < 0 }

// onlyRoots reports whether root alone can change a program, or put another in its place: an agent that runs as another user must
// not choose what root runs.
func onlyRoots(program string) bool {
	target, err := filepath.EvalSymlinks(program)
	if err != nil {
		return false
	}
	for _, path := range []string{program, target} {
		for ; ; path = filepath.Dir(path) {
			info, err := os.Lstat(path)
			if err != nil {
				return false
			}
			owner, known := info.Sys().(*syscall.Stat_t)
			open := info.Mode().Perm()&0o022 != 0 && info.Mode()&(os.ModeSticky|os.ModeSymlink) == 0
			if !known || owner.Uid != 0 || open {
				return false
			}
			if path == filepath.Dir(path) {
				break
			}
		}
	}
	return true
}
