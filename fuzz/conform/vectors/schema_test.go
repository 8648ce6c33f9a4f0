package vectors

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"bailiff/runtime/policytest"
)

// schema reads one of the schemas.
func schema(t *testing.T, name string) *jsonschema.Resolved {
	t.Helper()
	text, err := static.ReadFile("static/" + name)
	if err != nil {
		t.Fatal(err)
	}
	parsed := new(jsonschema.Schema)
	if err := json.Unmarshal(text, parsed); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	resolved, err := parsed.Resolve(nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return resolved
}

// follows reports whether a JSON text follows a schema.
func follows(t *testing.T, s *jsonschema.Resolved, text []byte) error {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return s.Validate(value)
}

// TestSchemas holds vectors and the bodies in them to the schemas, which every valid body follows.
func TestSchemas(t *testing.T) {
	forVectors, forIntents := schema(t, "policy_decision_schema_v1.json"), schema(t, "intent_schema_v1.json")
	for _, file := range read(t) {
		text, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := follows(t, forVectors, text); err != nil {
			t.Errorf("%s: %v", file.Algorithm, err)
		}
		for _, group := range file.Groups {
			for _, test := range group.Tests {
				for _, step := range test.Trace {
					if test.Result == "invalid" || step.Body == "" {
						continue
					}
					if err := follows(t, forIntents, []byte(step.Body)); err != nil {
						t.Errorf("test %d: %v\n%s", test.ID, err, step.Body)
					}
				}
			}
		}
	}
}

// TestSchemasRefuse holds that the schemas refuse other forms.
func TestSchemasRefuse(t *testing.T) {
	good := `{"framework":"x","agentId":"a","txCommit":"` + strings.Repeat("0", 64) + `","intent":{"action":"bash"}}`
	forIntents := schema(t, "intent_schema_v1.json")
	if err := follows(t, forIntents, []byte(good)); err != nil {
		t.Error(err)
	}
	for _, change := range [][2]string{{`"x"`, `"X"`}, {`"agentId"`, `"agentid"`}, {`"bash"`, `"b sh"`}, {`{"action"`, `{"n":1,"action"`}, {`"txCommit"`, `"userOpHash"`}} {
		if follows(t, forIntents, []byte(strings.Replace(good, change[0], change[1], 1))) == nil {
			t.Errorf("an intent with %s follows the schema", change[1])
		}
	}
	forTests := schema(t, "policy_tests_schema_v1.json")
	tests := `{"tests":[{"name":"n","intent":{"action":"bash"},"expect":{"status":"DENIED","rule":"tool_calls.allowed"}},
		{"name":"m","steps":[{"intent":{"action":"bash"},"expect":{"status":"ALLOWED"}},{"advance":"1h","approve":true,"expect":{"status":"DENIED"}}]}]}`
	if _, err := policytest.Parse("p.test.json", []byte(tests)); err != nil {
		t.Error(err)
	}
	if err := follows(t, forTests, []byte(tests)); err != nil {
		t.Error(err)
	}
	for _, change := range [][2]string{{"DENIED", "REFUSED"}, {`"expect"`, `"expects"`}, {`"name":"n",`, ""}} {
		other := []byte(strings.Replace(tests, change[0], change[1], 1))
		if _, err := policytest.Parse("p.test.json", other); err == nil {
			t.Errorf("a test file with %s is read", change[1])
		}
		if follows(t, forTests, other) == nil {
			t.Errorf("a test file with %s follows the schema", change[1])
		}
	}
}
