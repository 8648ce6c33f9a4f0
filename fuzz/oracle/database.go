package oracle

import (
	"math/big"
	"slices"
	"strings"
	"unicode"

	"bailiff/vm/errcode"
)

// databaseOperations are the operations of databases (the format's facts, "Resource profiles").
var databaseOperations = strings.Fields(`select insert update merge delete truncate create_table drop_table add_column
	drop_column alter_column_type add_constraint drop_constraint create_index drop_index create_schema drop_schema
	create_database alter_database drop_database create_routine replace_routine execute_routine change_trigger
	change_row_security grant revoke create_extension`)

// statement is what a shim says about a database statement.
type statement struct {
	operations, resources, capabilities []string
	hasResources, hasCapabilities       bool // there, texts all of them, and not empty
}

// databaseRules is the table of section "Databases", row by row, but for the limit of tasks (step 7).
func (j *judgement) databaseRules() {
	if !j.databaseGoverns() {
		return
	}
	if fault := j.databaseEvidence(); fault != "" {
		j.deny("database.actions", fault)
		return
	}
	var s statement
	s.operations, _ = j.metadata("database", "operations").texts()
	s.resources, s.hasResources = j.metadata("database", "resources").texts()
	s.capabilities, s.hasCapabilities = j.metadata("database", "credential_capabilities").texts()
	j.databaseEnvironment(s)
	d := j.p.database
	if d.has("allowed_operations") && !subset(s.operations, d.list("allowed_operations")) {
		j.deny("database.allowed_operations", errcode.DatabaseOperation)
	}
	if d.has("allowed_resources") && !j.resourcesAllowed(s) {
		j.deny("database.allowed_resources", errcode.DatabaseResource)
	}
	if d.has("routine_catalog") && slices.Contains(s.operations, "execute_routine") &&
		(!s.hasResources || !subset(s.resources, d.list("routine_catalog"))) {
		j.deny("database.routine_catalog", errcode.DatabaseRoutine)
	}
	if d.flag("require_read_only_for_select") && subset(s.operations, []string{"select"}) &&
		(!s.hasCapabilities || !subset(inLowerCase(s.capabilities), []string{"select", "read", "read_only"})) {
		j.deny("database.require_read_only_for_select", errcode.DatabaseCapability)
	}
	if d.flag("deny_unreviewed_indirect_effects") && s.indirect(d.has("routine_catalog")) {
		j.deny("database.deny_unreviewed_indirect_effects", errcode.DatabaseRoutine)
	}
}

func subset(list, of []string) bool {
	for _, each := range list {
		if !slices.Contains(of, each) {
			return false
		}
	}
	return true
}

// databaseEvidence is the two rows of `database.actions`.
func (j *judgement) databaseEvidence() errcode.Code {
	operations, count := j.metadata("database", "operations"), j.metadata("database", "statement_count")
	if len(operations.elements()) == 0 || count.kind == missingKind {
		return errcode.DatabaseMetadata
	}
	for _, operation := range operations.elements() {
		if operation.kind != textKind || !slices.Contains(databaseOperations, operation.text) {
			return errcode.DatabaseParse
		}
	}
	if n, ok := integer(count.text); count.kind != numberKind || !ok || n.Sign() == 0 {
		return errcode.DatabaseParse
	}
	return ""
}

// databaseEnvironment: "`environment` missing" or "with white space"; "`environment` listed (in any case), and an operation
// other than `select`".
func (j *judgement) databaseEnvironment(s statement) {
	const rule = "database.protected_environments"
	if !j.p.database.has("protected_environments") {
		return
	}
	environment := j.metadata("database", "environment")
	if environment.kind != textKind || environment.text == "" || strings.ContainsFunc(environment.text, unicode.IsSpace) {
		j.deny(rule, errcode.DatabaseMetadata)
		return
	}
	named := strings.ToLower(environment.text)
	for _, listed := range j.p.database.list("protected_environments") {
		if strings.ToLower(listed) == named && !subset(s.operations, []string{"select"}) {
			j.deny(rule, errcode.DatabaseOperation)
			return
		}
	}
}

// resourcesAllowed: "`resources` missing, empty, or with one that no pattern covers" is denied. "Resource patterns
// are exact but for `*`, which crosses no dot unless it is last."
func (j *judgement) resourcesAllowed(s statement) bool {
	for _, resource := range s.resources {
		if !anyMatches(j.p.patterns.resources, resource) {
			return false
		}
	}
	return s.hasResources
}

// indirect: "`create_routine`, `replace_routine`, `change_trigger`; `execute_routine` without `routine_catalog`".
func (s statement) indirect(catalogued bool) bool {
	for _, operation := range s.operations {
		switch operation {
		case "create_routine", "replace_routine", "change_trigger":
			return true
		case "execute_routine":
			if !catalogued {
				return true
			}
		}
	}
	return false
}

// inLowerCase: "`credential_capabilities` compare in lower case".
func inLowerCase(list []string) []string {
	var lower []string
	for _, each := range list {
		lower = append(lower, strings.ToLower(each))
	}
	return lower
}

// schemaChanges counts "the operations that begin with `create_`, `drop_`, `alter_`, `add_`, and `replace_routine`,
// `change_trigger`, `change_row_security`". "`statement_count` counts for limits on changes": where there is such an
// operation, every statement may be one.
func (j *judgement) schemaChanges() *big.Int {
	count := int64(0)
	for _, operation := range j.metadata("database", "operations").elements() {
		for _, prefix := range []string{"create_", "drop_", "alter_", "add_", "replace_routine", "change_trigger", "change_row_security"} {
			if strings.HasPrefix(operation.text, prefix) {
				count++
			}
		}
	}
	changes := big.NewInt(count)
	if told, ok := integer(j.metadata("database", "statement_count").text); ok && count > 0 && told.Cmp(changes) > 0 {
		return told
	}
	return changes
}
