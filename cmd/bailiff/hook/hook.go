package hook

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"bailiff/cmd/bailiff/cli"
	api "bailiff/httpd/client"
	"bailiff/runtime/hook"
)

// hookCommand is what hosts of coding agents call, and what sets that up.
type hookCommand struct {
	Answer Answer `cmd:"" default:"withargs" help:"Answer one event of a coding agent on standard input. Hosts call this."`
	hookSetup
}

// Answer answers one event.
type Answer struct {
	Flags
}

// Help says what the command promises.
func (c *Answer) Help() string {
	return `Reads one event of a coding agent's host on standard input, asks the service, and answers in the host's own format. Whatever
goes wrong is a denial; --fail-mode open lets calls run while the service cannot be reached, and nothing else. Flags come before
SVC_* variables, these before the configuration file. docs/hooks.md has what each tool is asked as.`
}

// Run answers the event. Its exit code is one that the host understands.
func (c *Answer) Run(std cli.Streams) error {
	signal.Ignore(syscall.SIGPIPE)
	out := c.answer(std)
	_, err := std.Err.Write(out.Stderr)
	if _, failed := std.Out.Write(out.Stdout); failed != nil || err != nil && out.Exit != 0 {
		return &cli.Exit{Code: cli.ExitUsage}
	}
	return cli.ExitWith(out.Exit)
}

// hookReserve is how much of the hook's time is left for what comes after the service's answer, on a busy machine too: a quarter, and a second
// at most.
const hookReserve = time.Second

// A judgement is what becomes of an event: the host as far as it is known, and the decision.
type judgement struct {
	host     *hook.Host
	decision hook.Decision
}

// answer judges the event in time: at the deadline, at a signal and in a panic the answer is a denial.
func (c *Answer) answer(std cli.Streams) hook.Output {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	known := hook.Find(c.Adapter)
	total, asking, err := c.deadlines(known)
	ctx, cancel := context.WithTimeout(context.Background(), asking)
	defer cancel()
	done := make(chan judgement, 1)
	go func() {
		run := &hookRun{flags: &c.Flags, in: std.In, host: known, refused: err}
		defer func() {
			if fault := recover(); fault != nil {
				done <- judgement{run.host, hook.Decision{Reason: fmt.Sprintf("the hook failed: %v; report this as a defect of bailiff hook", fault)}}
			}
		}()
		decision := run.judge(ctx)
		run.note(decision)
		done <- judgement{run.host, decision}
	}()
	late := time.NewTimer(total)
	defer late.Stop()
	select {
	case j := <-done:
		return hook.Answer(j.host, j.decision)
	case s := <-signals:
		return hook.Answer(known, hook.Decision{Reason: fmt.Sprintf("the hook was stopped by a signal (%v) before there was a decision", s)})
	case <-late.C:
		return hook.Answer(known, hook.Decision{Reason: fmt.Sprintf("there was no decision within %v, the time that the host leaves", total)})
	}
}

// deadlines returns how long the hook may take in all, and how long it may ask for a decision. What it waits for a person comes
// on top of the usual share of the host's timeout. With an error they are the host's usual ones.
func (f *Flags) deadlines(host *hook.Host) (total, asking time.Duration, err error) {
	usual := hook.Deadline(shortestTimeout(host))
	timeout := f.HostTimeout
	if timeout == 0 {
		timeout = shortestTimeout(host)
	}
	if timeout < time.Second || f.Wait < 0 {
		return usual, usual, cli.Usage("--host-timeout is %v and --wait is %v: --host-timeout must be at least 1s, and --wait must not be negative", timeout, f.Wait)
	}
	if timeout-f.Wait < time.Second {
		return usual, usual, cli.Usage("--wait %v is too long for a host that stops the hook after %v; give the host a timeout of %v, and say so with --host-timeout", f.Wait, timeout, f.Wait+30*time.Second)
	}
	total = f.Wait + hook.Deadline(timeout-f.Wait)
	return total, total - min(hookReserve, total/4), nil
}

// shortestTimeout is how long a host waits where nothing is set; the shortest of all where the host is not known yet.
func shortestTimeout(host *hook.Host) time.Duration {
	if host != nil {
		return host.Timeout
	}
	shortest := hook.Hosts[0].Timeout
	for _, h := range hook.Hosts {
		shortest = min(shortest, h.Timeout)
	}
	return shortest
}

// hookRun is one event on its way.
type hookRun struct {
	flags    *Flags
	in       io.Reader
	host     *hook.Host
	event    hook.Event
	config   hookConfig
	refused  error       // what is wrong with the flags
	answered *api.Answer // nil where the service did not decide
}

// judge reads the event and asks for a decision.
func (r *hookRun) judge(ctx context.Context) hook.Decision {
	text, err := io.ReadAll(io.LimitReader(r.in, hook.MaxEvent+1))
	if err == nil {
		// To its end, whatever the answer: Codex drops a denial that comes before it has written the whole event.
		_, err = io.Copy(io.Discard, r.in)
	}
	if err != nil {
		return denied(fmt.Errorf("the event cannot be read: %w", err))
	}
	if r.refused != nil {
		return denied(r.refused)
	}
	r.event, err = hook.Read(cmp.Or(r.flags.Adapter, hook.Auto), text)
	r.host = r.event.Host
	if err != nil {
		return denied(err)
	}
	if r.config, err = r.flags.config(); err != nil {
		return denied(err)
	}
	request, err := r.event.Request(hook.Config{
		AgentID: r.config.AgentID, Framework: r.config.Framework, TaskID: r.config.TaskID, FallbackTaskID: os.Getenv("SVC_TASK_ID"),
		SendContent: r.config.SendContent, Usage: ReadUsage(&r.event), Random: rand.Text(),
	})
	if err != nil {
		return denied(err)
	}
	service, err := api.New(api.Config{URL: r.config.APIURL, Key: r.config.APIKey, Timeout: time.Hour, UserAgent: "bailiff-hook", RequestID: hook.RequestID(request.TaskID)}) // ctx ends sooner
	if err != nil {
		return denied(err)
	}
	return r.ask(ctx, service, request)
}

// denied is the denial of what was never asked.
func denied(err error) hook.Decision { return hook.Decision{Reason: cli.Plain(err)} }

// ask asks the service, and once more after a hold that a person has resolved meanwhile.
func (r *hookRun) ask(ctx context.Context, service *api.Client, request *hook.Request) hook.Decision {
	unheld, cancel := context.WithDeadline(ctx, r.withoutWait(ctx))
	defer cancel()
	answer, err := service.AuthorizeBody(unheld, request.Body, request.Nonce)
	if err != nil {
		return r.unanswered(err, r.config.open)
	}
	r.answered = answer
	decision := decisionOf(answer)
	if answer.Status != api.Pending || r.flags.Wait == 0 {
		return decision
	}
	hold, err := service.Hold(ctx, answer.HoldID, r.flags.Wait)
	if err != nil || hold.Status == api.Pending {
		return decision
	}
	// The hold only says that something was decided: what counts is the answer to the same request.
	answer, err = service.AuthorizeBody(ctx, request.Body, request.Nonce)
	if err != nil {
		return r.unanswered(err, false) // it was held, so the answer must not say that it was not judged
	}
	r.answered = answer
	return decisionOf(answer)
}

// withoutWait is when the first answer has to be there: at the end of what is left without the wait.
func (r *hookRun) withoutWait(ctx context.Context) time.Time {
	deadline, _ := ctx.Deadline()
	return deadline.Add(-r.flags.Wait)
}

// decisionOf is what an answer means to the host.
func decisionOf(a *api.Answer) hook.Decision {
	return hook.Answered{
		Status: a.Status, Code: a.ErrorCode, Rule: cmp.Or(a.MatchedRule, a.PolicyRule), Message: a.Message, HoldID: a.HoldID, ExpiresAt: a.ExpiresAt, ApprovalURL: a.ApprovalURL,
	}.Decision()
}

// unanswered is the decision where the service did not decide. Only where it could not be reached may the call run, in mode
// open; what the service refuses (a 4xx) is denied in both modes.
func (r *hookRun) unanswered(err error, open bool) hook.Decision {
	var refused *api.Refused
	if errors.As(err, &refused) {
		return hook.Decision{Reason: "denied without a decision: " + cli.Plain(refused)}
	}
	var gone *api.Unreachable
	if !errors.As(err, &gone) {
		return denied(err)
	}
	reason := "the service cannot be reached: " + cli.Plain(gone.Err)
	if open {
		return hook.Decision{Allowed: true, FailOpen: true, Reason: reason}
	}
	return hook.Decision{Reason: reason + "; start it, or name its address with --url or SVC_API_URL"}
}
