package hosts

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
)

// Conditions that more than one host has.

func timedOut(r Result) bool   { return r.TimedOut }
func notStarted(r Result) bool { return r.NotStarted }
func unread(r Result) bool     { return r.Unread }
func always(Result) bool       { return true }

func killed(r Result) bool       { return r.Exit < 0 }
func exitsTwo(r Result) bool     { return r.Exit == 2 }
func exitsNotZero(r Result) bool { return r.Exit != 0 }

func notSuccess(r Result) bool { return r.Status < 200 || r.Status > 299 }
func silent(r Result) bool     { return trimmed(r.Stdout) == "" }
func notObject(r Result) bool  { return !strings.HasPrefix(trimmed(r.Stdout), "{") }

// trimmed is what JavaScript's trim leaves, which takes a byte-order mark for white space.
func trimmed(text []byte) string {
	return strings.TrimFunc(string(text), func(r rune) bool { return r == '\uFEFF' || strings.ContainsRune(" \t\n\v\f\r\u00a0\u2028\u2029", r) })
}

// document reads exactly one JSON value.
func document(text string) (value any, err error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return value, nil
}

// object reads exactly one JSON object.
func object(text string) (members map[string]any, ok bool) {
	value, err := document(text)
	members, ok = value.(map[string]any)
	return members, err == nil && ok
}

// text is the text of a member, or "".
func text(members map[string]any, name string) string {
	value, _ := members[name].(string)
	return value
}

// Claude Code.

// claudeOutput are the values that a hook's output may have where Claude Code checks them.
var claudeOutput = map[string][]any{
	"decision":           {"approve", "block"},
	"permissionDecision": {"allow", "deny", "ask", "defer"},
	"continue":           {true, false},
	"suppressOutput":     {true, false},
}

// claudeValid reports whether an object has the form of a hook's output.
func claudeValid(members map[string]any) bool {
	for name, allowed := range claudeOutput {
		if value, ok := members[name]; ok && !slices.Contains(allowed, value) {
			return false
		}
	}
	specific, ok := members["hookSpecificOutput"]
	if !ok {
		return true
	}
	inner, ok := specific.(map[string]any)
	if !ok || inner["hookEventName"] != "PreToolUse" {
		return false
	}
	delete(members, "hookSpecificOutput")
	defer func() { members["hookSpecificOutput"] = inner }()
	return claudeValid(inner)
}

// claudeDenies reports whether the output is a valid denial, which counts whatever the exit code.
func claudeDenies(r Result) bool {
	members, ok := object(trimmed(r.Stdout))
	if !ok || !claudeValid(members) {
		return false
	}
	specific, _ := members["hookSpecificOutput"].(map[string]any)
	return text(specific, "permissionDecision") == "deny" || text(members, "decision") == "block" || members["continue"] == false
}

// claudeInvalid reports whether the output looks like JSON and is not an answer. Text that does not begin with { or, not
// being JSON, does not end with } is plain text to Claude Code, and so are lines of objects that say nothing.
func claudeInvalid(r Result) bool {
	output := trimmed(r.Stdout)
	if !strings.HasPrefix(output, "{") {
		return false
	}
	if members, ok := object(output); ok {
		return !claudeValid(members)
	}
	if !strings.HasSuffix(output, "}") {
		return false
	}
	lines := strings.FieldsFunc(output, func(r rune) bool { return r == '\n' })
	return len(lines) < 2 || slices.ContainsFunc(lines, func(line string) bool {
		value, err := document(strings.TrimSpace(line))
		members, ok := value.(map[string]any)
		return err != nil || ok && claudeValid(members) && claudeSays(members)
	})
}

// httpInvalid reports whether the body is not the JSON of an answer.
func httpInvalid(r Result) bool {
	members, ok := object(trimmed(r.Stdout))
	return !ok || !claudeValid(members)
}

// claudeKeys are the keys of a hook's output.
var claudeKeys = []string{"async", "continue", "decision", "hookSpecificOutput", "reason", "stopReason", "suppressOutput", "systemMessage", "terminalSequence"}

// claudeSays reports whether an output has any key that Claude Code knows.
func claudeSays(members map[string]any) bool {
	return slices.ContainsFunc(claudeKeys, func(name string) bool { _, ok := members[name]; return ok })
}

// Codex.

// codexKeys are the keys of a PreToolUse output; every other key voids it.
var (
	codexKeys      = []string{"continue", "decision", "hookSpecificOutput", "reason", "stopReason", "suppressOutput", "systemMessage"}
	codexInnerKeys = []string{"additionalContext", "hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput"}
)

func codexBlocks(r Result) bool { return r.Exit == 2 && strings.TrimSpace(string(r.Stderr)) != "" }

// codexDenies reports whether the output is a denial in the one form in which Codex takes it.
func codexDenies(r Result) bool {
	members, ok := object(strings.TrimSpace(string(r.Stdout)))
	if !ok || !only(members, codexKeys) || members["continue"] == false || members["stopReason"] != nil || members["suppressOutput"] == true {
		return false
	}
	specific, inner := members["hookSpecificOutput"].(map[string]any)
	if inner && (!only(specific, codexInnerKeys) || specific["hookEventName"] != "PreToolUse") {
		return false
	}
	if text(specific, "permissionDecision") == "deny" {
		return strings.TrimSpace(text(specific, "permissionDecisionReason")) != ""
	}
	return text(members, "decision") == "block" && strings.TrimSpace(text(members, "reason")) != ""
}

// only reports whether every key of members is known.
func only(members map[string]any, known []string) bool {
	for name := range members {
		if !slices.Contains(known, name) {
			return false
		}
	}
	return true
}

// Gemini CLI.

// geminiOutput is the text that Gemini CLI reads: standard output or, where that is empty, standard error.
func geminiOutput(r Result) string {
	if output := trimmed(r.Stdout); output != "" {
		return output
	}
	return trimmed(r.Stderr)
}

// geminiAnswer is the answer in the output, and whether the output is JSON at all. A string that contains JSON counts.
func geminiAnswer(r Result) (members map[string]any, isJSON bool) {
	value, err := document(geminiOutput(r))
	if inner, ok := value.(string); ok && err == nil {
		value, err = document(inner)
	}
	members, _ = value.(map[string]any)
	return members, err == nil
}

func geminiDenies(r Result) bool {
	members, _ := geminiAnswer(r)
	decision := text(members, "decision")
	return decision == "deny" || decision == "block" || members["continue"] == false
}

func geminiReadsJSON(r Result) bool {
	_, isJSON := geminiAnswer(r)
	return isJSON
}

func geminiSilent(r Result) bool { return geminiOutput(r) == "" }
func geminiBlocks(r Result) bool { return r.Exit > 1 }

// GitHub Copilot CLI, Cursor, Hermes.

func copilotDenies(r Result) bool {
	members, ok := object(trimmed(r.Stdout))
	return ok && text(members, "permissionDecision") == "deny"
}

func cursorDenies(r Result) bool {
	members, ok := object(trimmed(r.Stdout))
	return ok && text(members, "permission") == "deny"
}

func hermesDenies(r Result) bool {
	members, ok := object(trimmed(r.Stdout))
	return ok && text(members, "decision") == "block"
}

// notJSON reports whether there is output that is not one JSON object.
func notJSON(r Result) bool {
	output := trimmed(r.Stdout)
	_, ok := object(output)
	return output != "" && !ok
}
