package hook

import (
	"strings"
	"unicode"
)

// A Decision is what the adapter makes of the service's answer, or of its absence.
type Decision struct {
	Allowed  bool
	FailOpen bool   // allowed though the service could not be asked
	Reason   string // of a denial, and of FailOpen
}

// An Output is what a hook leaves to its host.
type Output struct {
	Stdout, Stderr []byte
	Exit           int
}

// answerer is how a host is answered.
type answerer struct {
	allow  string                     // on standard output; empty for nothing
	deny   func(reason string) []byte // on standard output, with exit code 0,
	byExit bool                       // or by exit code 2 and the reason on standard error
	open   func(reason string) []byte // for FailOpen, where the host has a member to show it
}

// denyExit is the exit code by which every host denies, if standard output is empty and standard error has a text that is
// no JSON.
const denyExit = 2

// Answer returns the answer for a host. A host of nil, which is not known, is denied whatever the decision.
func Answer(h *Host, d Decision) Output {
	reason := plainReason(d.Reason)
	switch {
	case h == nil || !d.Allowed && h.answer.byExit:
		return Output{Stderr: []byte("bailiff: " + reason + "\n"), Exit: denyExit}
	case !d.Allowed:
		return Output{Stdout: append(h.answer.deny(reason), '\n')}
	case d.FailOpen:
		stdout := []byte(h.answer.allow)
		if h.answer.open != nil {
			stdout = h.answer.open(reason)
		}
		return Output{Stdout: lineOf(stdout), Stderr: lineOf(failOpen(reason))}
	}
	return Output{Stdout: lineOf([]byte(h.answer.allow))}
}

// lineOf ends a text with a line feed, unless it is empty.
func lineOf(text []byte) []byte {
	if len(text) == 0 {
		return nil
	}
	return append(text, '\n')
}

// failOpen is the tag of an answer that was given without the service.
func failOpen(reason string) []byte {
	return append(appendText([]byte(`{"failOpen":true,"reason":`), reason), '}')
}

// openMessage shows the tag to the user, in the member that Claude Code and Gemini CLI have for messages.
func openMessage(reason string) []byte {
	return append(appendText([]byte(`{"systemMessage":`), "failOpen: true; bailiff let this call run without a decision: "+reason), '}')
}

// denyClaude denies as Claude Code and Codex read it.
func denyClaude(reason string) []byte {
	const before = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":`
	return append(appendText([]byte(before), reason), "}}"...)
}

// denyDecision denies by a decision of that word.
func denyDecision(word string) func(reason string) []byte {
	return func(reason string) []byte {
		return append(appendText([]byte(`{"decision":"`+word+`","reason":`), reason), '}')
	}
}

// denyCursor denies as Cursor reads it, for the user and for the model.
func denyCursor(reason string) []byte {
	dst := appendText([]byte(`{"permission":"deny","user_message":`), reason)
	return append(appendText(append(dst, `,"agent_message":`...), reason), '}')
}

// denyCopilot denies as GitHub Copilot CLI reads it.
func denyCopilot(reason string) []byte {
	return append(appendText([]byte(`{"permissionDecision":"deny","permissionDecisionReason":`), reason), '}')
}

// maxReason bounds a reason in bytes.
const maxReason = 2000

// plainReason is a reason without what could steer a terminal, of a bounded length, and never empty: a denial without a
// reason is void for some hosts.
func plainReason(reason string) string {
	reason = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(reason, ""))
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + "…"
	}
	if reason = strings.TrimSpace(reason); reason == "" {
		return "denied; the service gave no reason"
	}
	return reason
}
