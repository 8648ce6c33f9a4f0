package compiler

import (
	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/form/resource"
)

// The keys of `## database` whose rules deny, hold or count.
var (
	keyDBActions     = mustFind("database", "actions")
	keyEnvironments  = mustFind("database", "protected_environments")
	keyDBAllowed     = mustFind("database", "allowed_operations")
	keyDBApproval    = mustFind("database", nameApproval)
	keyResources     = mustFind("database", "allowed_resources")
	keyRoutines      = mustFind("database", "routine_catalog")
	keyReadOnly      = mustFind("database", "require_read_only_for_select")
	keyIndirect      = mustFind("database", "deny_unreviewed_indirect_effects")
	keySchemaChanges = mustFind("database", "max_schema_changes_per_task")
)

// databaseRules returns the rules of `## database`.
func (e *emitter) databaseRules() []profileRule {
	return []profileRule{{e.policy.Profiles.byDatabase(), e.database}}
}

func (e *emitter) database() {
	d := e.policy.Profiles.Database
	failed := e.NewLabel()
	e.at(d.Span)
	e.databaseEvidence(failed)
	if d.Environments != nil {
		e.environment(d.Environments)
	}
	if d.Allowed != nil {
		e.allowing(d.Allowed)
		e.unless(func(pass vm.Label) {
			e.Test(vm.OpIn, vm.If|vm.Every, e.Field(slotDBOperations), e.exactly(d.Allowed.texts()...), pass)
		}, keyDBAllowed.Rule, keyDBAllowed.Code, "an operation is not in database.allowed_operations", e.element(slotDBOperations))
	}
	if d.Resources != nil {
		e.allowing(d.Resources)
		e.unless(func(pass vm.Label) {
			e.Test(vm.OpGlob, vm.If|vm.Every, e.Field(slotDBResources), e.Globs(vm.Dotted, d.Resources.texts()...), pass)
		}, keyResources.Rule, keyResources.Code, "metadata.database.resources is missing, or holds what is not in database.allowed_resources", e.element(slotDBResources))
	}
	if d.Routines != nil {
		e.routines(d.Routines)
	}
	if isOn(d.ReadOnlyForSelect) {
		e.at(d.ReadOnlyForSelect.Span)
		e.readOnly()
	}
	if isOn(d.DenyIndirect) {
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
	e.Test(vm.OpIn, vm.Unless, environment, e.exactly(environments.texts()...), next)
	e.Test(vm.OpIn, vm.If|vm.Every, e.Field(slotDBOperations), e.exactly(resource.Select), next)
	e.deny(keyEnvironments.Rule, keyEnvironments.Code, "the environment is in database.protected_environments, where only select may happen", e.element(slotDBOperations), next)
	e.Place(next)
}

// routines denies the execution of routines that the catalogue lacks.
func (e *emitter) routines(catalog *List) {
	e.allowing(catalog)
	e.unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless, e.Field(slotDBOperations), e.exactly(resource.ExecuteRoutine), pass)
		e.Test(vm.OpIn, vm.If|vm.Every, e.Field(slotDBResources), e.exactly(catalog.texts()...), pass)
	}, keyRoutines.Rule, keyRoutines.Code, "metadata.database.resources is missing, or holds what is not in database.routine_catalog", e.element(slotDBResources))
}

// readOnly denies selects by a credential that can do more.
func (e *emitter) readOnly() {
	e.unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless|vm.Every, e.Field(slotDBOperations), e.exactly(resource.Select), pass)
		e.Test(vm.OpIn, vm.If|vm.Every, e.Field(slotDBCapabilities), e.exactly(resource.ReadCapabilities()...), pass)
	}, keyReadOnly.Rule, keyReadOnly.Code, "metadata.database.credential_capabilities is missing, or holds more than reading", e.element(slotDBCapabilities))
}

// indirect denies what has effects that nobody reviewed. Executed routines are reviewed by the catalogue, where there is
// one.
func (e *emitter) indirect(catalog *List) {
	operations := which(resource.DatabaseOperations(), func(text string) bool {
		return resource.IndirectEffects(text) || text == resource.ExecuteRoutine && catalog == nil
	})
	e.unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless, e.Field(slotDBOperations), e.exactly(operations...), pass)
	}, keyIndirect.Rule, keyIndirect.Code, "the operation has effects that nobody reviewed", e.element(slotDBOperations))
}
