package oracle

import (
	"slices"

	"bailiff/vm/errcode"
)

// gates is step 3: "the execution boundary; `require_shim`, section by section; the rules of the profiles, in the
// order repository, filesystem, git, database."
func (j *judgement) gates() {
	j.boundary()
	j.requireShim()
	j.repositoryRules()
	j.filesystemRules()
	j.gitRules()
	j.databaseRules()
}

// boundary: "A governed intent of any kind needs a key of shim provenance and an object `metadata.execution`".
func (j *judgement) boundary() {
	governed := j.repositoryGoverns() || j.filesystemGoverns() || j.gitGoverns() || j.databaseGoverns()
	if governed && !(j.shim && j.metadata("execution").kind == objectKind) {
		j.deny("execution.boundary", errcode.ExecutionBoundary)
	}
}

// requireShim: "The section's intents are, for evm EVM intents, for tool_calls tool intents, for mcp MCP intents, for
// custom, soft_limits and execution_limits all intents; a profile has the boundary instead."
func (j *judgement) requireShim() {
	for _, row := range []struct {
		name    string
		section *section
		applies bool
	}{
		{"evm", j.p.evm, j.kind == evmIntent},
		{"tool_calls", j.p.tools, j.kind == toolIntent},
		{"custom", j.p.custom, true},
		{"mcp", j.p.mcp, j.kind == mcpIntent},
		{"soft_limits", j.p.soft, true},
		{"execution_limits", j.p.execution, true},
	} {
		if row.applies && row.section.flag("require_shim") && !j.shim {
			j.deny(row.name+".require_shim", errcode.ProvenanceRequired)
		}
	}
}

// The sections "Who is governed": the table's rows.

func (j *judgement) repositoryGoverns() bool {
	return j.p.repository != nil && (j.action == "bash" || j.action == "file_write" ||
		j.p.filesystem.actionCovered("actions", j.action) || j.gitGoverns() || j.databaseGoverns())
}

func (j *judgement) filesystemGoverns() bool {
	return j.p.filesystem != nil &&
		(j.p.filesystem.actionCovered("actions", j.action) || j.p.git.actionCovered("filesystem_actions", j.action))
}

func (j *judgement) gitGoverns() bool {
	return j.p.git.actionCovered("actions", j.action) || j.p.git.actionCovered("filesystem_actions", j.action)
}

func (j *judgement) databaseGoverns() bool { return j.p.database.actionCovered("actions", j.action) }

// repositoryFileIntent: "*File intents* are those that filesystem governs and, of repository's, `bash`, `file_write`
// and what `filesystem.actions` or `git.filesystem_actions` covers."
func (j *judgement) repositoryFileIntent() bool {
	return j.p.repository != nil && (j.action == "bash" || j.action == "file_write" ||
		j.p.filesystem.actionCovered("actions", j.action) || j.p.git.actionCovered("filesystem_actions", j.action))
}

// holdRules is step 6, in the order of the specification, "Approval rules".
func (j *judgement) holdRules() {
	p := j.p
	j.consensus()
	asks := func(s *section) bool { return s.actionCovered("require_approval", j.action) }
	for _, row := range []struct {
		rule  string
		holds bool
	}{
		{"evm.require_approval", j.kind == evmIntent && asks(p.evm)},
		{"tool_calls.bash.require_approval", j.commandHeld()},
		{"tool_calls.email.require_approval", j.emailHeld()},
		{"tool_calls.require_approval", j.kind == toolIntent && asks(p.tools)},
		{"custom.require_approval", asks(p.custom)},
		{"mcp.require_approval", j.kind == mcpIntent && j.toolMatchesEitherWay(p.patterns.askFor)},
		{"soft_limits.require_approval", asks(p.soft)},
		{"execution_limits.require_approval", asks(p.execution)},
		{"git.require_approval", j.gitGoverns() && slices.Contains(p.git.list("require_approval"), j.metadata("git", "operation").text)},
		{"database.require_approval", j.databaseGoverns() && j.databaseAsks()},
	} {
		if row.holds {
			j.hold(row.rule, errcode.HoldApproval)
		}
	}
}

// databaseAsks reports whether "one of its database operations is in `database.require_approval`".
func (j *judgement) databaseAsks() bool {
	for _, operation := range j.metadata("database", "operations").elements() {
		if slices.Contains(j.p.database.list("require_approval"), operation.text) {
			return true
		}
	}
	return false
}
