package oracle

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"bailiff/fuzz/oracle/shell"
	"bailiff/grammar"
	"bailiff/vm/errcode"
)

// patterns are the patterns of a policy that are compiled when it is read.
type patterns struct {
	queries                            map[string]pattern // http.method_rules.<METHOD>.require_query_matches, by method
	blockedRecipients, allowed, exempt []*regexp.Regexp   // email lists
	allowedTools, blockedTools, askFor []*regexp.Regexp   // mcp lists; askFor is require_approval
	resources                          []*regexp.Regexp   // database.allowed_resources
}

func (p *Policy) readPatterns(file *grammar.File) error {
	p.patterns = patterns{
		queries:           map[string]pattern{},
		blockedRecipients: recipientPatterns(p.tools.list("email.blocked_recipients")),
		allowed:           recipientPatterns(p.tools.list("email.allowed_recipients")),
		exempt:            recipientPatterns(p.tools.list("email.approval_exempt_recipients")),
		allowedTools:      globs(lowered(p.mcp.list("allowed_tools")), globOf),
		blockedTools:      globs(lowered(p.mcp.list("blocked_tools")), openGlobOf),
		askFor:            globs(lowered(p.mcp.list("require_approval")), openGlobOf),
		resources:         globs(p.database.list("allowed_resources"), globOf),
	}
	for _, entry := range entries(file, "tool_calls") {
		s := entry.Key.Segments
		if len(s) != 4 || s[0].Text != "http" || s[1].Text != "method_rules" || s[3].Text != "require_query_matches" || entry.Value == nil {
			continue
		}
		pattern, err := wholeValue(entry.Value.Text)
		if err != nil {
			return fmt.Errorf("oracle: %s: %w", entry.Key.Text, err)
		}
		p.patterns.queries[s[2].Text] = pattern
	}
	return nil
}

func lowered(list []string) []string {
	var lower []string
	for _, each := range list {
		lower = append(lower, asciiLower(each))
	}
	return lower
}

func (p *Policy) readNeedles(*grammar.File) error {
	for _, entry := range p.tools.list("bash.blocked_commands") {
		p.commands = append(p.commands, shell.Needles(entry)...)
	}
	for _, entry := range p.tools.list("bash.require_approval") {
		p.held = append(p.held, shell.Needles(entry)...)
	}
	return nil
}

// toolSection: "Tool: allowed, then command or path; for `http` and `web_fetch`: blocked methods, allowed methods,
// hosts, method rules, blocked domains; for `email.send`: blocked, allowed."
func (j *judgement) toolSection() {
	if !j.toolGranted() {
		j.deny("tool_calls.allowed", errcode.ToolCallNotAllowed)
	}
	switch j.action {
	case "bash":
		j.blockedCommands()
		j.allowedCommands()
	case "file_write":
		j.blockedPaths("file_write.blocked_paths", j.p.filePaths)
		j.allowedPaths("file_write.allowed_paths")
	case "file_read":
		j.blockedPaths("file_read.blocked_paths", j.p.unreadable)
		j.allowedPaths("file_read.allowed_paths")
	case "http", "web_fetch":
		j.web()
	case "email.send":
		j.recipients()
	}
}

// toolGranted: "Tool intents are denied where the policy declares `## evm`, `## tool_calls`, `## mcp` or a profile
// and none grants them"; "a profile that covers a tool's action grants it, as `tool_calls.allowed` would".
func (j *judgement) toolGranted() bool {
	p := j.p
	declared := false
	for _, s := range []*section{p.evm, p.tools, p.mcp, p.repository, p.filesystem, p.git, p.database} {
		declared = declared || s != nil
	}
	return !declared || slices.Contains(lowered(p.tools.list("allowed")), j.action) ||
		j.filesystemGoverns() || j.gitGoverns() || j.databaseGoverns()
}

// blockedCommands judges `bash` by its blocked commands. A missing command "is denied with that list's code".
func (j *judgement) blockedCommands() {
	if !j.p.tools.has("bash.blocked_commands") {
		return
	}
	forms, readable := shell.Forms(j.text("command"))
	if !j.has("command") || !readable || anyContains(j.p.commands, forms) {
		j.deny("tool_calls.bash.blocked_commands", errcode.BlockedCommand)
	}
}

// anyContains seeks texts in lower case: "Case makes no difference in any form."
func anyContains(needles, forms []string) bool {
	for _, form := range forms {
		form = strings.ToLower(form)
		for _, needle := range needles {
			if strings.Contains(form, needle) {
				return true
			}
		}
	}
	return false
}

// commandHeld: `bash.require_approval` is "matched in all forms in which `blocked_commands` is"; "what `blocked_commands` refuses
// for its form is … held under `require_approval`", and so is a missing command (choices).
func (j *judgement) commandHeld() bool {
	if j.action != "bash" || !j.p.tools.has("bash.require_approval") {
		return false
	}
	forms, readable := shell.Forms(j.text("command"))
	return !j.has("command") || !readable || anyContains(j.p.held, forms)
}

// emailHeld: `email.approval_exempt_recipients` exempts "only if every recipient matches".
func (j *judgement) emailHeld() bool {
	if j.action != "email.send" || !j.p.tools.flag("email.require_approval") {
		return false
	}
	addresses, count, readable := j.addresses()
	return !j.p.tools.has("email.approval_exempt_recipients") || count == 0 || !readable || !allMatch(j.p.patterns.exempt, addresses)
}

// sentPaths returns the values of `path`: one, or every one of `paths`.
func (j *judgement) sentPaths() []value {
	if path := j.sentPath(); path.kind != listKind {
		return []value{path}
	}
	return j.sentPath().elements()
}

// blockedPaths judges a tool by its blocked paths: every one of `paths`, "denials if any". "A relative path is judged
// against `cwd` where the intent gives one".
func (j *judgement) blockedPaths(key string, entries []pathEntry) {
	if !j.p.tools.has(key) {
		return
	}
	for _, path := range j.sentPaths() {
		if path.kind != textKind || pathBlocked(entries, j.fromCwd(path.text)) {
			j.deny("tool_calls."+key, errcode.BlockedPath)
			return
		}
	}
}

func (j *judgement) fromCwd(path string) string {
	if cwd := j.text("cwd"); cwd != "" && relative(path) && path != "" {
		return strings.TrimRight(cwd, `/\`) + "/" + path // a root is no device by what stands behind it
	}
	return path
}

// allowedPaths judges a tool by its allowed paths: "grants only if all match".
func (j *judgement) allowedPaths(key string) {
	if !j.p.tools.has(key) {
		return
	}
	for _, path := range j.sentPaths() {
		if path.kind != textKind || !j.pathAllowed(j.p.tools.list(key), path.text) {
			j.deny("tool_calls."+key, errcode.ToolCallNotAllowed)
			return
		}
	}
}

// pathAllowed: "`allowed_paths` match from the first segment, case counts, `*` within a segment; a relative entry is below
// `cwd`, else matches relative paths only".
func (j *judgement) pathAllowed(entries []string, path string) bool {
	whole, ok := exactPath(j.fromCwd(path))
	if !ok {
		return false
	}
	cwd, hasCwd := exactPath(j.text("cwd"))
	for _, entry := range entries {
		from, _ := exactPath(entry)
		if from.start == "." && j.has("cwd") {
			if !hasCwd || whole.start != "/" || !beginsExactly(whole.segments, cwd.segments) {
				continue
			}
			from.start, from.segments = "/", append(starless(cwd.segments), from.segments...)
		}
		if from.start == whole.start && begins(whole.segments, from.segments) {
			return true
		}
	}
	return false
}

// allowedCommands judges `bash` by its allowed commands. "What `blocked_commands` refuses for its form is denied under
// `allowed_commands`."
func (j *judgement) allowedCommands() {
	if !j.p.tools.has("bash.allowed_commands") {
		return
	}
	if !j.has("command") || !shell.Lists(j.p.tools.list("bash.allowed_commands"), j.text("command")) {
		j.deny("tool_calls.bash.allowed_commands", errcode.ToolCallNotAllowed)
	}
}
