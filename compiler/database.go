package compiler

import (
	"fmt"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/form/resource"
	"bailiff/vm/match"
)

// Database is the section `## database`: operations on databases.
type Database struct {
	Heading
	Actions            *List // action patterns in lower case
	Environments       *List // lower case
	Allowed            *List
	Approval           *List // of Allowed
	Resources          *List // patterns in which `*` crosses no dot unless it is last
	Routines           *List // exact
	ReadOnlyForSelect  *Flag
	DenyIndirect       *Flag
	MaxSchemaChanges   *Count
	StatementTimeoutMs *Count // for the shim; not judged
	LockTimeoutMs      *Count // the same
	RequireShim        *Flag
}

// The types of values that only this section has.
var (
	resourceLists = namesOf(TypeResources, checkResource)
	environments  = valueOf(TypeNames, func(c *checker, entry *grammar.Entry) *List { return lowered(c.nameList(entry, checkName)) })
)

var (
	keyDBActions = key(actionPatterns, func(s *Database) **List { return &s.Actions }, Key{Name: "actions",
		Code: errcode.DatabaseMetadata, Codes: []errcode.Code{errcode.DatabaseParse},
		Doc: "The actions that this profile governs, and thereby grants to tools.", Example: "actions: db.*"})

	keyEnvironments = key(environments, func(s *Database) **List { return &s.Environments }, Key{Name: "protected_environments", Blocks: true,
		Code: errcode.DatabaseOperation, Codes: []errcode.Code{errcode.DatabaseMetadata},
		Doc: "Environments in which only `select` may happen, in any case.", Example: "protected_environments: production"})

	keyDBAllowed = key(choices, func(s *Database) **List { return &s.Allowed }, Key{Name: "allowed_operations", Values: resource.DatabaseOperations(),
		Code: errcode.DatabaseOperation,
		Doc:  "The operations that may happen.", Example: "allowed_operations: select, insert, update"})

	keyDBApproval = key(choices, func(s *Database) **List { return &s.Approval }, Key{Name: "require_approval", Blocks: true, Values: resource.DatabaseOperations(),
		Code: errcode.HoldApproval,
		Doc:  "The operations on which a person has to decide.", Example: "require_approval: update"})

	keyResources = key(resourceLists, func(s *Database) **List { return &s.Resources }, Key{Name: "allowed_resources",
		Code:    errcode.DatabaseResource,
		Doc:     "The tables and other things that may be touched; `*` crosses no dot unless it is last.",
		Example: "allowed_resources: app.public.*, app.*.events"})

	keyRoutines = key(nameLists, func(s *Database) **List { return &s.Routines }, Key{Name: "routine_catalog",
		Code: errcode.DatabaseRoutine,
		Doc:  "The reviewed routines, which alone may be executed; exact.", Example: "routine_catalog: app.public.refresh_totals"})

	keyReadOnly = key(booleans, func(s *Database) **Flag { return &s.ReadOnlyForSelect }, Key{Name: "require_read_only_for_select",
		Code:    errcode.DatabaseCapability,
		Doc:     "Whether what only selects needs a credential that can only read.",
		Example: "require_read_only_for_select: true"})

	keyIndirect = key(booleans, func(s *Database) **Flag { return &s.DenyIndirect }, Key{Name: "deny_unreviewed_indirect_effects",
		Code:    errcode.DatabaseRoutine,
		Doc:     "Whether routines and triggers may not be put in place, nor routines executed without `routine_catalog`.",
		Example: "deny_unreviewed_indirect_effects: true"})

	keySchemaChanges = taskLimit(func(s *Database) **Count { return &s.MaxSchemaChanges },
		slotDBSchemaChanges, "the task would change more of the schema than allowed", Key{Name: "max_schema_changes_per_task", Unit: "schema changes",
			Doc: "How many changes of schema a task may make; where one operation changes it, every statement counts.", Example: "max_schema_changes_per_task: 5"})

	keyDBStatementTimeoutMs = key(counts, func(s *Database) **Count { return &s.StatementTimeoutMs }, Key{Name: "statement_timeout_ms",
		Doc: "How long a statement may take; the shim sets it on its session.", Example: "statement_timeout_ms: 5000"})

	keyDBLockTimeoutMs = key(counts, func(s *Database) **Count { return &s.LockTimeoutMs }, Key{Name: "lock_timeout_ms",
		Doc: "How long a statement may wait for a lock; the shim sets it on its session.", Example: "lock_timeout_ms: 1000"})

	keyDBShim = profileShimKey(func(s *Database) **Flag { return &s.RequireShim })
)

var database = profile(section[Database]("database", v21, "A resource profile: operations on databases.",
	keyDBActions, keyEnvironments, keyDBAllowed, keyDBApproval, keyResources, keyRoutines, keyReadOnly, keyIndirect,
	keySchemaChanges, keyDBStatementTimeoutMs, keyDBLockTimeoutMs, keyDBShim))

// checkResource checks a pattern of resources.
func checkResource(text string) problem {
	switch {
	case strings.Trim(text, "*") == "":
		return problem{codes.Resource, "a bare `*` would allow every resource", "name what is meant, such as `app.*`; to allow all of it, leave `allowed_resources` out"}
	case strings.Count(text, "*") > match.MaxStars:
		return problem{codes.Resource, fmt.Sprintf("a pattern has at most %d stars", match.MaxStars), "write out the parts that are known"}
	}
	return checkName(text)
}

// lowered puts the items of a list into lower case, each once.
func lowered(list *List) *List {
	seen := map[string]bool{}
	kept := list.Items[:0]
	for _, item := range list.Items {
		if item.Text = strings.ToLower(item.Text); !seen[item.Text] {
			seen[item.Text] = true
			kept = append(kept, item)
		}
	}
	list.Items = kept
	return list
}

// databaseRules returns the rules of `## database`.
func (e *emitter) databaseRules() []profileRule {
	return []profileRule{{profilesOf(e.parts).ByDatabase(), e.database}}
}

func (e *emitter) database() {
	d := part[Database](e.parts)
	failed := e.NewLabel()
	e.at(d.Span)
	e.databaseEvidence(failed)
	if d.Environments != nil {
		e.environment(d.Environments)
	}
	if d.Allowed != nil {
		e.allow(keyDBAllowed, d.Allowed, vm.OpIn, vm.If|vm.Every, slotDBOperations, e.exactly(d.Allowed.Texts()...), "an operation is not in database.allowed_operations")
	}
	if d.Resources != nil {
		e.allow(keyResources, d.Resources, vm.OpGlob, vm.If|vm.Every, slotDBResources, e.Globs(match.Dotted, d.Resources.Texts()...),
			"metadata.database.resources is missing, or holds what is not in database.allowed_resources")
	}
	if d.Routines != nil {
		e.routines(d.Routines)
	}
	if IsOn(d.ReadOnlyForSelect) {
		e.at(d.ReadOnlyForSelect.Span)
		e.readOnly()
	}
	if IsOn(d.DenyIndirect) {
		e.at(d.DenyIndirect.Span)
		e.indirect(d.Routines)
	}
	e.Place(failed)
}

// databaseEvidence denies where the shim does not say what is done.
func (e *emitter) databaseEvidence(failed vm.Label) {
	for _, need := range []struct {
		slot    string
		when    vm.When
		kinds   vm.KindMask
		code    errcode.Code
		message string
	}{
		{slotDBOperations, vm.Unless, missing, errcode.DatabaseMetadata, "metadata.database.operations is missing or empty"},
		{slotDBStatements, vm.Unless, missing, errcode.DatabaseMetadata, "metadata.database.statement_count is missing"},
		{slotDBOperations, vm.If, aList, errcode.DatabaseParse, "metadata.database.operations holds what is no operation"},
		{slotDBStatements, vm.If, aNumber, errcode.DatabaseParse, "metadata.database.statement_count is no positive integer"},
	} {
		ok := e.NewLabel()
		e.Kind(need.when, e.Field(need.slot), need.kinds, ok)
		e.deny(keyDBActions.Rule, need.code, need.message, e.value(need.slot), failed)
		e.Place(ok)
	}
}

// environment denies all but select where the environment is protected, and what does not name its environment.
func (e *emitter) environment(environments *List) {
	next, named := e.NewLabel(), e.NewLabel()
	environment := e.Field(slotDBEnvironment)
	e.blocking(environments)
	e.Kind(vm.If, environment, aText, named)
	e.deny(keyEnvironments.Rule, errcode.DatabaseMetadata, "metadata.database.environment is missing, or has white space", vm.Blame{Slot: environment}, next)
	e.Place(named)
	e.Test(vm.OpIn, vm.Unless, environment, e.exactly(environments.Texts()...), next)
	e.Test(vm.OpIn, vm.If|vm.Every, e.Field(slotDBOperations), e.exactly(resource.Select), next)
	e.deny(keyEnvironments.Rule, keyEnvironments.Code, "the environment is in database.protected_environments, where only select may happen", e.element(slotDBOperations), next)
	e.Place(next)
}

// routines denies the execution of routines that the catalogue lacks.
func (e *emitter) routines(catalog *List) {
	e.allowing(catalog)
	e.unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless, e.Field(slotDBOperations), e.exactly(resource.ExecuteRoutine), pass)
		e.Test(vm.OpIn, vm.If|vm.Every, e.Field(slotDBResources), e.exactly(catalog.Texts()...), pass)
	}, keyRoutines.Rule, keyRoutines.Code, "metadata.database.resources is missing, or holds what is not in database.routine_catalog", e.element(slotDBResources))
}

// readOnly denies selects by a credential that can do more.
func (e *emitter) readOnly() {
	e.unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless|vm.Every, e.Field(slotDBOperations), e.exactly(resource.Select), pass)
		e.Test(vm.OpIn, vm.If|vm.Every, e.Field(slotDBCapabilities), e.exactly(resource.ReadCapabilities()...), pass)
	}, keyReadOnly.Rule, keyReadOnly.Code, "metadata.database.credential_capabilities is missing, or holds more than reading", e.element(slotDBCapabilities))
}

// indirect denies operations with effects that were not reviewed. Executed routines are reviewed by the catalogue, where there is
// one.
func (e *emitter) indirect(catalog *List) {
	operations := which(resource.DatabaseOperations(), func(text string) bool {
		return resource.IndirectEffects(text) || text == resource.ExecuteRoutine && catalog == nil
	})
	e.unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless, e.Field(slotDBOperations), e.exactly(operations...), pass)
	}, keyIndirect.Rule, keyIndirect.Code, "the operation has effects that nobody reviewed", e.element(slotDBOperations))
}
