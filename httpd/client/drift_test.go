package client

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"bailiff/runtime/ledger"
	"bailiff/runtime/policies"
	"bailiff/vm/slot"
)

// members are the names in JSON of a struct's members.
func members(of reflect.Type) map[string]bool {
	names := map[string]bool{}
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		names[name] = true
	}
	return names
}

// TestFields holds that every field that the service reads can be sent, and no other.
func TestFields(t *testing.T) {
	top, inside := members(reflect.TypeFor[Request]()), members(reflect.TypeFor[Intent]())
	for _, row := range slot.Fields() {
		if row.Place&slot.Inside != 0 && !inside[row.Name] || row.Place == slot.Top && !top[row.Name] {
			t.Errorf("%s can't be sent", row.Name)
		}
		if row.Place&slot.Inside != 0 {
			delete(inside, row.Name)
		} else {
			delete(top, row.Name)
		}
	}
	for name := range inside {
		t.Errorf("intent.%s is sent, and not read", name)
	}
	for name := range top {
		t.Errorf("%s is sent, and not read", name)
	}
}

// TestSchemas holds that every member of an answer that the API documents can be read, and no other.
func TestSchemas(t *testing.T) {
	text, err := os.ReadFile("../schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	var schemas map[string]struct{ Properties map[string]json.RawMessage }
	if err := json.Unmarshal(text, &schemas); err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]reflect.Type{
		"Decision": reflect.TypeFor[Answer](), "Details": reflect.TypeFor[Details](), "Hold": reflect.TypeFor[Hold](), "Pin": reflect.TypeFor[Pin](),
	} {
		read, documented := members(of), schemas[name].Properties
		for member := range documented {
			if !read[member] && name+"."+member != "Hold.policy" { // which says again what other members say
				t.Errorf("%s.%s is documented, and not read", name, member)
			}
		}
		for member := range read {
			if documented[member] == nil {
				t.Errorf("%s.%s is read, and not documented", name, member)
			}
		}
		if len(documented) == 0 {
			t.Errorf("the schema %s is missing", name)
		}
	}
}

// TestPinBounds holds the client's bounds of pins to those of the service.
func TestPinBounds(t *testing.T) {
	if MaxToolsMet != ledger.MaxToolsMet || MaxToolsMetBytes != policies.MaxPinsBody || MaxToolName != ledger.MaxToolName || MaxToolDefinition != ledger.MaxToolDefinition {
		t.Error("a bound of pins is not the service's")
	}
}
