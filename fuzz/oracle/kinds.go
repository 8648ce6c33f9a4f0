package oracle

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// An intentKind says which section judges an intent.
type intentKind int

const (
	toolIntent intentKind = iota
	mcpIntent
	modelIntent
	evmIntent
)

// kindOf finds the kind of an action in lower case: "in this order, on its lower-case form: MCP (`mcp.…`), model
// (`model.inference`), EVM (`wallet.transfer`, `contract.call`, `token.approve`, `erc4337.userop`, or listed in
// `evm.allowed_actions` or `evm.chain_actions`), tool (everything else)" (decisions, section 2, "Kinds of intents").
func (p *Policy) kindOf(action string) intentKind {
	switch {
	case strings.HasPrefix(action, "mcp."):
		return mcpIntent
	case action == "model.inference":
		return modelIntent
	case slices.Contains([]string{"wallet.transfer", "contract.call", "token.approve", "erc4337.userop"}, action):
		return evmIntent
	}
	lists := [][]string{p.evm.list("allowed_actions")}
	for _, listed := range p.chainActions {
		lists = append(lists, listed)
	}
	for _, listed := range lists {
		for _, each := range listed {
			if asciiLower(each) == action {
				return evmIntent
			}
		}
	}
	return toolIntent
}

// invalid is step 1: the field that makes the request a 400, or "". "`chainId` is required for EVM intents (400
// without)"; "`targetAddress`, `token`, `amount`, `amount_unit`, `calldata`, `maxFee` are accepted on EVM intents only (400
// otherwise)".
func (j *judgement) invalid() string {
	if field := j.malformed(); field != "" {
		return field
	}
	if j.kind == evmIntent {
		if !j.has("chainId") {
			return "chainId"
		}
		return ""
	}
	for _, name := range []string{"targetAddress", "token", "amount", "amount_unit", "calldata", "maxFee"} {
		if j.has(name) {
			return name
		}
	}
	return ""
}

// malformed finds what no policy accepts, as far as normal forms are concerned: an action "with white space", a URL's path
// "with a dot segment", a `cwd` that is not absolute, and two places that differ. The decoder has refused the rest.
func (j *judgement) malformed() string {
	u, hasURL := j.url()
	cwd := j.sent.field("cwd")
	switch {
	case strings.ContainsFunc(j.sentAction, unicode.IsSpace):
		return "action"
	case hasURL && dotSegment(u.path):
		return "url"
	case cwd.kind == textKind && !absolutePath(cwd.text):
		return "cwd"
	case j.sent.argumentsDiffer():
		return "arguments"
	case j.pathsMisplaced():
		return "paths"
	}
	return ""
}

// pathsMisplaced: "`intent.paths` (1 – 256; `file_write` and `file_read` only, not beside `path`)", nor beside a `url`, which
// has one; "`cwd`, once for each of several paths, has at most 100,000 bytes" (choices).
func (j *judgement) pathsMisplaced() bool {
	paths := j.sent.field("paths")
	if paths.kind == missingKind {
		return false
	}
	n, cwd := len(paths.elements()), len(j.sent.field("cwd").text)
	return n == 0 || n > 256 || j.action != "file_write" && j.action != "file_read" ||
		j.sent.field("path").kind != missingKind || j.sent.field("url").kind != missingKind || n > 1 && n*(cwd+1) > 100_000
}

// absolutePath reports whether a directory begins at a root or at a drive's.
func absolutePath(path string) bool { return rootPattern.MatchString(path) }

var rootPattern = regexp.MustCompile(`^([A-Za-z]:)?[/\\]`)
