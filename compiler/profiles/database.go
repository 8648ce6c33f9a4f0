package profiles

import (
	"fmt"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/form/resource"
	"bailiff/vm/match"
)

// Database is the section `## database`: operations on databases.
type Database struct {
	frame.Heading
	Actions            *frame.List // action patterns in lower case
	Environments       *frame.List // lower case
	Allowed            *frame.List
	Approval           *frame.List // of Allowed
	Resources          *frame.List // patterns in which `*` crosses no dot unless it is last
	Routines           *frame.List // exact
	ReadOnlyForSelect  *frame.Flag
	DenyIndirect       *frame.Flag
	MaxSchemaChanges   *frame.Count
	StatementTimeoutMs *frame.Count // for the shim; not judged
	LockTimeoutMs      *frame.Count // the same
	RequireShim        *frame.Flag
}

// The types of values that only this section has.
var (
	resourceLists = frame.NamesOf(frame.TypeResources, checkResource)
	environments  = frame.ValueOf(frame.TypeNames, func(c *frame.Checker, entry *grammar.Entry) *frame.List { return lowered(c.NameList(entry, checkName)) })
)

var (
	keyDBActions = frame.NewKey(frame.ActionPatterns, func(s *Database) **frame.List { return &s.Actions }, frame.Key{Name: "actions",
		Code: errcode.DatabaseMetadata, Codes: []errcode.Code{errcode.DatabaseParse},
		Doc: "The actions that this profile governs, and thereby grants to tools.", Example: "actions: db.*"})

	keyEnvironments = frame.NewKey(environments, func(s *Database) **frame.List { return &s.Environments }, frame.Key{Name: "protected_environments", Blocks: true,
		Code: errcode.DatabaseOperation, Codes: []errcode.Code{errcode.DatabaseMetadata},
		Doc: "Environments in which only `select` may happen, in any case.", Example: "protected_environments: production"})

	keyDBAllowed = frame.NewKey(frame.Choices, func(s *Database) **frame.List { return &s.Allowed }, frame.Key{Name: "allowed_operations", Values: resource.DatabaseOperations(),
		Code: errcode.DatabaseOperation,
		Doc:  "The operations that may happen.", Example: "allowed_operations: select, insert, update"})

	keyDBApproval = frame.NewKey(frame.Choices, func(s *Database) **frame.List { return &s.Approval }, frame.Key{Name: "require_approval", Blocks: true, Values: resource.DatabaseOperations(),
		Code: errcode.HoldApproval,
		Doc:  "The operations on which a person has to decide.", Example: "require_approval: update"})

	keyResources = frame.NewKey(resourceLists, func(s *Database) **frame.List { return &s.Resources }, frame.Key{Name: "allowed_resources",
		Code:    errcode.DatabaseResource,
		Doc:     "The tables and other things that may be touched; `*` crosses no dot unless it is last.",
		Example: "allowed_resources: app.public.*, app.*.events"})

	keyRoutines = frame.NewKey(nameLists, func(s *Database) **frame.List { return &s.Routines }, frame.Key{Name: "routine_catalog",
		Code: errcode.DatabaseRoutine,
		Doc:  "The reviewed routines, which alone may be executed; exact.", Example: "routine_catalog: app.public.refresh_totals"})

	keyReadOnly = frame.NewKey(frame.Booleans, func(s *Database) **frame.Flag { return &s.ReadOnlyForSelect }, frame.Key{Name: "require_read_only_for_select",
		Code:    errcode.DatabaseCapability,
		Doc:     "Whether what only selects needs a credential that can only read.",
		Example: "require_read_only_for_select: true"})

	keyIndirect = frame.NewKey(frame.Booleans, func(s *Database) **frame.Flag { return &s.DenyIndirect }, frame.Key{Name: "deny_unreviewed_indirect_effects",
		Code:    errcode.DatabaseRoutine,
		Doc:     "Whether routines and triggers may not be put in place, nor routines executed without `routine_catalog`.",
		Example: "deny_unreviewed_indirect_effects: true"})

	keySchemaChanges = taskLimit(func(s *Database) **frame.Count { return &s.MaxSchemaChanges },
		slotDBSchemaChanges, "the task would change more of the schema than allowed", frame.Key{Name: "max_schema_changes_per_task", Unit: "schema changes",
			Doc: "How many changes of schema a task may make; where one operation changes it, every statement counts.", Example: "max_schema_changes_per_task: 5"})

	keyDBStatementTimeoutMs = frame.NewKey(frame.Counts, func(s *Database) **frame.Count { return &s.StatementTimeoutMs }, frame.Key{Name: "statement_timeout_ms",
		Doc: "How long a statement may take; the shim sets it on its session.", Example: "statement_timeout_ms: 5000"})

	keyDBLockTimeoutMs = frame.NewKey(frame.Counts, func(s *Database) **frame.Count { return &s.LockTimeoutMs }, frame.Key{Name: "lock_timeout_ms",
		Doc: "How long a statement may wait for a lock; the shim sets it on its session.", Example: "lock_timeout_ms: 1000"})

	keyDBShim = profileShimKey(func(s *Database) **frame.Flag { return &s.RequireShim })
)

// DatabaseSection is the row of `## database`.
var DatabaseSection = profile(frame.NewSection[Database]("database", frame.V21, "A resource profile: operations on databases.",
	keyDBActions, keyEnvironments, keyDBAllowed, keyDBApproval, keyResources, keyRoutines, keyReadOnly, keyIndirect,
	keySchemaChanges, keyDBStatementTimeoutMs, keyDBLockTimeoutMs, keyDBShim))

// checkResource checks a pattern of resources.
func checkResource(text string) frame.Problem {
	switch {
	case strings.Trim(text, "*") == "":
		return frame.Problem{Code: codes.Resource, Message: "a bare `*` would allow every resource", Remedy: "name the intended resources, such as `app.*`; to allow all of them, leave `allowed_resources` out"}
	case strings.Count(text, "*") > match.MaxStars:
		return frame.Problem{Code: codes.Resource, Message: fmt.Sprintf("a pattern has at most %d stars", match.MaxStars), Remedy: "write out the parts that are known"}
	}
	return checkName(text)
}

// lowered puts the items of a list into lower case, each once.
func lowered(list *frame.List) *frame.List {
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
func databaseRules(e *frame.Emitter) []profileRule {
	return []profileRule{{Of(e.Parts).ByDatabase(), func() { emitDatabase(e) }}}
}

func emitDatabase(e *frame.Emitter) {
	d := frame.Part[Database](e.Parts)
	failed := e.NewLabel()
	e.At(d.Span)
	databaseEvidence(e, failed)
	if d.Environments != nil {
		emitEnvironment(e, d.Environments)
	}
	if d.Allowed != nil {
		e.Allow(keyDBAllowed, d.Allowed, vm.OpIn, vm.If|vm.Every, slotDBOperations, e.Exactly(d.Allowed.Texts()...), "an operation is not in database.allowed_operations")
	}
	if d.Resources != nil {
		e.Allow(keyResources, d.Resources, vm.OpGlob, vm.If|vm.Every, SlotDBResources, e.Globs(match.Dotted, d.Resources.Texts()...),
			"metadata.database.resources is missing, or contains an entry that is not in database.allowed_resources")
	}
	if d.Routines != nil {
		routines(e, d.Routines)
	}
	if frame.IsOn(d.ReadOnlyForSelect) {
		e.At(d.ReadOnlyForSelect.Span)
		readOnly(e)
	}
	if frame.IsOn(d.DenyIndirect) {
		e.At(d.DenyIndirect.Span)
		emitIndirect(e, d.Routines)
	}
	e.Place(failed)
}

// databaseEvidence denies where the shim does not say what is done.
func databaseEvidence(e *frame.Emitter, failed vm.Label) {
	for _, need := range []struct {
		slot    string
		when    vm.When
		kinds   vm.KindMask
		code    errcode.Code
		message string
	}{
		{slotDBOperations, vm.Unless, missing, errcode.DatabaseMetadata, "metadata.database.operations is missing or empty"},
		{slotDBStatements, vm.Unless, missing, errcode.DatabaseMetadata, "metadata.database.statement_count is missing"},
		{slotDBOperations, vm.If, aList, errcode.DatabaseParse, "metadata.database.operations contains an unknown operation"},
		{slotDBStatements, vm.If, aNumber, errcode.DatabaseParse, "metadata.database.statement_count is not a positive integer"},
	} {
		ok := e.NewLabel()
		e.Kind(need.when, e.Field(need.slot), need.kinds, ok)
		e.DenyBy(keyDBActions.Rule, need.code, need.message, e.Value(need.slot), failed)
		e.Place(ok)
	}
}

// emitEnvironment denies all but select where the environment is protected, and what does not name its environment.
func emitEnvironment(e *frame.Emitter, environments *frame.List) {
	next, named := e.NewLabel(), e.NewLabel()
	environment := e.Field(slotDBEnvironment)
	e.Blocking(environments)
	e.Kind(vm.If, environment, aText, named)
	e.DenyBy(keyEnvironments.Rule, errcode.DatabaseMetadata, "metadata.database.environment is missing, or has white space", vm.Blame{Slot: environment}, next)
	e.Place(named)
	e.Test(vm.OpIn, vm.Unless, environment, e.Exactly(environments.Texts()...), next)
	e.Test(vm.OpIn, vm.If|vm.Every, e.Field(slotDBOperations), e.Exactly(resource.Select), next)
	e.DenyBy(keyEnvironments.Rule, keyEnvironments.Code, "the environment is in database.protected_environments, where only select may happen", e.Element(slotDBOperations), next)
	e.Place(next)
}

// routines denies the execution of routines that the catalogue lacks.
func routines(e *frame.Emitter, catalog *frame.List) {
	e.Allowing(catalog)
	e.Unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless, e.Field(slotDBOperations), e.Exactly(resource.ExecuteRoutine), pass)
		e.Test(vm.OpIn, vm.If|vm.Every, e.Field(SlotDBResources), e.Exactly(catalog.Texts()...), pass)
	}, keyRoutines.Rule, keyRoutines.Code, "metadata.database.resources is missing, or contains an entry that is not in database.routine_catalog", e.Element(SlotDBResources))
}

// readOnly denies selects by a credential that can do more.
func readOnly(e *frame.Emitter) {
	e.Unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless|vm.Every, e.Field(slotDBOperations), e.Exactly(resource.Select), pass)
		e.Test(vm.OpIn, vm.If|vm.Every, e.Field(slotDBCapabilities), e.Exactly(resource.ReadCapabilities()...), pass)
	}, keyReadOnly.Rule, keyReadOnly.Code, "metadata.database.credential_capabilities is missing, or holds more than reading", e.Element(slotDBCapabilities))
}

// emitIndirect denies operations with effects that were not reviewed. Executed routines are reviewed by the catalogue, where there is
// one.
func emitIndirect(e *frame.Emitter, catalog *frame.List) {
	operations := which(resource.DatabaseOperations(), func(text string) bool {
		return resource.IndirectEffects(text) || text == resource.ExecuteRoutine && catalog == nil
	})
	e.Unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless, e.Field(slotDBOperations), e.Exactly(operations...), pass)
	}, keyIndirect.Rule, keyIndirect.Code, "the operation has effects that were not reviewed", e.Element(slotDBOperations))
}
