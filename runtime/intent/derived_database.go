package intent

import (
	"strings"
	"unicode"

	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/form/resource"
)

// database returns a member of metadata.database.
func (in *Intent) database(name string) int32 {
	return in.given(in.evidence(databaseEvidence), name)
}

func derivedOperations(in *Intent, _ Provenance) vm.Value {
	return in.texts(in.database("operations"), resource.IsDatabaseOperation)
}

func derivedStatements(in *Intent, _ Provenance) vm.Value {
	at := in.database("statement_count")
	if at == 0 {
		return vm.Value{}
	}
	n, ok := in.wholeNumber(at)
	if !ok || n == 0 {
		return unreadable
	}
	return in.count(n)
}

func derivedEnvironment(in *Intent, _ Provenance) vm.Value {
	environment, _ := in.givenText(in.evidence(databaseEvidence), "environment")
	if strings.ContainsFunc(environment, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return unreadable
	}
	return textIf(environment != "", in.lowerUnicode(environment))
}

func derivedResources(in *Intent, _ Provenance) vm.Value {
	return in.texts(in.database("resources"), anyText)
}

func derivedCapabilities(in *Intent, _ Provenance) vm.Value {
	list := in.texts(in.database("credential_capabilities"), anyText)
	for i := range list.Elems {
		list.Elems[i].Text = in.lowerUnicode(list.Elems[i].Text)
	}
	return list
}

// derivedSchemaChanges counts what may change the schema: where one operation does, each statement may be of it.
func derivedSchemaChanges(in *Intent, from Provenance) vm.Value {
	changes := uint64(0)
	for _, operation := range derivedOperations(in, from).Elems {
		if resource.ChangesSchema(operation.Text) {
			changes++
		}
	}
	if statements, ok := in.wholeNumber(in.database("statement_count")); ok && changes > 0 {
		changes = max(changes, statements)
	}
	return in.quantity(amount.FromUint64(changes))
}
