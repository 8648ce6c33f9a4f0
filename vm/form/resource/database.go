package resource

// What a database operation does.
const (
	changesSchema traits = 1 << iota
	indirectEffects
)

// databaseOperations is the one table of what can be done to a database.
var databaseOperations = newVocabulary([]row{
	{Select, 0},
	{"insert", 0},
	{"update", 0},
	{"merge", 0},
	{"delete", 0},
	{"truncate", 0},
	{"create_table", changesSchema},
	{"drop_table", changesSchema},
	{"add_column", changesSchema},
	{"drop_column", changesSchema},
	{"alter_column_type", changesSchema},
	{"add_constraint", changesSchema},
	{"drop_constraint", changesSchema},
	{"create_index", changesSchema},
	{"drop_index", changesSchema},
	{"create_schema", changesSchema},
	{"drop_schema", changesSchema},
	{"create_database", changesSchema},
	{"alter_database", changesSchema},
	{"drop_database", changesSchema},
	{"create_routine", changesSchema | indirectEffects},
	{"replace_routine", changesSchema | indirectEffects},
	{ExecuteRoutine, 0},
	{"change_trigger", changesSchema | indirectEffects},
	{"change_row_security", changesSchema},
	{"grant", 0},
	{"revoke", 0},
	{"create_extension", changesSchema},
})

// DatabaseOperations returns what can be done to a database.
func DatabaseOperations() []string { return databaseOperations.names() }

// IsDatabaseOperation reports whether text is a database operation.
func IsDatabaseOperation(text string) bool { return databaseOperations.has(text, known) }

// ChangesSchema reports whether an operation counts as a change of schema.
func ChangesSchema(operation string) bool { return databaseOperations.has(operation, changesSchema) }

// IndirectEffects reports whether an operation puts code in place that others will run, whose effects were not
// seen (`database.deny_unreviewed_indirect_effects`). Whether [ExecuteRoutine] is such an operation depends on the
// policy's catalogue of routines, so it is not one here.
func IndirectEffects(operation string) bool {
	return databaseOperations.has(operation, indirectEffects)
}
