package compiler

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bailiff/grammar"
	"bailiff/runtime/code"
	"bailiff/runtime/intent"
)

// hosts are policies in which the example of a key can stand, by section. What the key itself needs beside it is
// in companions.
var hosts = map[string]string{
	"evm":              "## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer\n",
	"tool_calls":       "## tool_calls\nallowed: bash\n",
	"custom":           "## custom\n",
	"execution_limits": "## execution_limits\n",
	anySection:         "## custom\n",
}

// TestSchemaRows compiles the example of every row: supported ones compile from the version on that has them and
// not before, and the others say that they are not supported yet.
func TestSchemaRows(t *testing.T) {
	for _, row := range Schema() {
		t.Run(row.Section+"."+row.Name, func(t *testing.T) {
			if row.Doc == "" || !strings.HasSuffix(row.Doc, ".") || row.Example == "" {
				t.Error("it has no sentence or no example")
			}
			if row.Rule != "" && row.Supported && row.Code == "" {
				t.Error("it denies, and has no error code")
			}
			if row.Code != "" && code.Lookup(row.Code).Code != row.Code {
				t.Errorf("%s is not in the table of codes", row.Code)
			}
			checkExample(t, row)
		})
	}
}

// TestUnreadKeysAreRefused is the canary of the readers: a row that is called supported and that nobody reads must
// not pass in silence.
func TestUnreadKeysAreRefused(t *testing.T) {
	for _, section := range Sections() {
		src := grammar.NewSource("canary", []byte("version: 2.0.0\n## "+section.Name+"\nnew.key: 1\n"))
		file, _ := grammar.Parse(src)
		c := newChecker(file, false)
		c.open(file.Sections[0])
		c.read(&Key{Section: section.Name, Name: "new.key", Supported: true}, file.Sections[0].Entries[0])
		if len(c.found) != 1 || c.found[0].Code != CodeKeyUnsupported {
			t.Errorf("section %s reads a key that it does not know: %v", section.Name, c.found)
		}
	}
}

func checkExample(t *testing.T, row Key) {
	found := compileExample(row, row.Since)
	switch {
	case !row.Supported:
		if !slices.Contains(found, CodeKeyUnsupported) {
			t.Errorf("it is not supported, and that is not said: %v", found)
		}
		return
	case len(found) > 0:
		t.Errorf("its example has errors: %v", found)
	}
	if row.Since != v10 {
		if found := compileExample(row, v10); !slices.Contains(found, CodeKeyVersion) {
			t.Errorf("version 1.0 does not have it, and that is not said: %v", found)
		}
	}
}

// compileExample returns the codes of the errors that the example of a row has under a version, without those
// about what is missing beside it.
func compileExample(row Key, version FormatVersion) []grammar.Code {
	host := hosts[row.Section]
	name, _, _ := strings.Cut(row.Example, ":")
	host = strings.ReplaceAll(host, "\n"+name+": ", "\n# ")
	text := fmt.Sprintf("version: %s.0\n%s%s\n", version, host, row.Example)
	_, found := Compile(grammar.NewSource("example", []byte(text)))
	var codes []grammar.Code
	for _, d := range found {
		if d.Severity == grammar.Error && d.Code != CodeTokenIncomplete && d.Code != CodeEVMGrantsNothing && d.Code != CodeEnforcesNothing {
			codes = append(codes, d.Code)
		}
	}
	return codes
}

// TestSections holds the table of sections to the grammar's, and every section to a row of keys.
func TestSections(t *testing.T) {
	var names []string
	for _, section := range Sections() {
		names = append(names, section.Name)
		hasKeys := slices.ContainsFunc(schema, func(k Key) bool { return k.Section == section.Name })
		if section.Supported && !hasKeys {
			t.Errorf("section %s has no keys", section.Name)
		}
	}
	want := slices.DeleteFunc(grammar.SectionNames(), func(name string) bool { return name == "signature" })
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("the schema has the sections %v, the grammar %v", names, want)
	}
}

// TestFields holds what the compiler knows of requests to the decoder of requests.
func TestFields(t *testing.T) {
	var want []field
	for _, row := range intent.Fields() {
		if row.Field != intent.IntentObject {
			want = append(want, field{name: row.Name, members: row.Type&intent.Members != 0})
		}
	}
	if !slices.Equal(fields, want) {
		t.Errorf("the compiler knows the fields %v, the decoder %v", fields, want)
	}
	for _, row := range intent.Fields() {
		if row.Field == intent.ChainID && row.Bound != "one of "+strings.Join(supportedChains, ", ") {
			t.Errorf("the compiler knows the chains %v, the decoder takes %s", supportedChains, row.Bound)
		}
	}
	if _, err := intent.NewBinding([]string{slotAction, slotChainID, slotTarget, slotToken, slotAmount, slotAmountUnit, slotCalldata, slotTaskID,
		slotLowerAction, slotLowerToken, slotProvenance, slotCommand, slotHost, slotPath, slotText, slotCalldataAmount}); err != nil {
		t.Error(err)
	}
}
