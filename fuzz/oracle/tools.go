package oracle

import (
	"fmt"
	"regexp"

	"bailiff/grammar"
	"bailiff/runtime/code"
	"bailiff/runtime/intent"
)

// patterns are the patterns of a policy that are compiled when it is read.
type patterns struct {
	queries                            map[string]*regexp.Regexp // http.method_rules.<METHOD>.require_query_matches, by method
	blockedRecipients, allowed         []*regexp.Regexp          // email lists
	allowedTools, blockedTools, askFor []*regexp.Regexp          // mcp lists; askFor is require_approval
	resources                          []*regexp.Regexp          // database.allowed_resources
}

func (p *Policy) readPatterns(file *grammar.File) error {
	p.patterns = patterns{
		queries:           map[string]*regexp.Regexp{},
		blockedRecipients: recipientPatterns(p.tools.list("email.blocked_recipients")),
		allowed:           recipientPatterns(p.tools.list("email.allowed_recipients")),
		allowedTools:      globs(lowered(p.mcp.list("allowed_tools"))),
		blockedTools:      globs(lowered(p.mcp.list("blocked_tools"))),
		askFor:            globs(lowered(p.mcp.list("require_approval"))),
		resources:         globs(p.database.list("allowed_resources")),
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
	for _, entry := range p.tools.list("bash.blocked_commands") { // "sought as written and collapsed" (choices)
		p.commands = append(p.commands, newNeedle(entry), newNeedle(collapsed(entry)))
	}
	return nil
}

// toolSection: "Tool: allowed, then command or path; for `http` and `web_fetch`: blocked methods, allowed methods,
// hosts, method rules, blocked domains; for `email.send`: blocked, allowed."
func (j *judgement) toolSection() {
	if !j.toolGranted() {
		j.deny("tool_calls.allowed", code.ToolCallNotAllowed)
	}
	switch j.action {
	case "bash":
		j.blockedCommands()
	case "file_write":
		j.blockedPaths()
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
	return !declared || contains(p.tools.list("allowed"), j.sent) ||
		j.filesystemGoverns() || j.gitGoverns() || j.databaseGoverns()
}

// blockedCommands judges `bash` by its blocked commands. A missing command "is denied with that list's code".
func (j *judgement) blockedCommands() {
	if !j.p.tools.has("bash.blocked_commands") {
		return
	}
	forms, readable := commandForms(j.in.Text(intent.Command))
	if !j.in.Has(intent.Command) || !readable || anyContains(j.p.commands, forms) {
		j.deny("tool_calls.bash.blocked_commands", code.BlockedCommand)
	}
}

func anyContains(needles []needle, forms []string) bool {
	for _, n := range needles {
		for _, form := range forms {
			if n.containedIn(form) {
				return true
			}
		}
	}
	return false
}

// blockedPaths judges `file_write` by its blocked paths.
func (j *judgement) blockedPaths() {
	if !j.p.tools.has("file_write.blocked_paths") {
		return
	}
	if !j.in.Has(intent.Path) || pathBlocked(j.p.filePaths, j.in.Text(intent.Path)) {
		j.deny("tool_calls.file_write.blocked_paths", code.BlockedPath)
	}
}
