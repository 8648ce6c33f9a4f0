package httpd

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// typesFile has the types of the API's bodies for clients in TypeScript.
const typesFile = "client/typescript/src/types.ts"

// TestTypeScript holds the types of the TypeScript client to the OpenAPI document. They are written anew with -rewrite.
func TestTypeScript(t *testing.T) {
	made := typeScript(t)
	if flag.Lookup("rewrite").Value.String() == "true" {
		if err := os.WriteFile(typesFile, []byte(made), 0o644); err != nil { //nolint:gosec // it is to be read
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(typesFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(kept) != made {
		t.Errorf("%s is not what the OpenAPI document says; run go test ./httpd -run TestTypeScript -rewrite", typesFile)
	}
}

// typeScript is the types of all schemas of the document that a server hands out.
func typeScript(t *testing.T) string {
	t.Helper()
	w := newWorld(t)
	w.serve(w.config(w.authority("", false)))
	_, body := w.send(w.request("GET /openapi.json\n\n"))
	var document struct {
		Components struct{ Schemas map[string]object }
	}
	if err := json.Unmarshal([]byte(body), &document); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	out.WriteString("// Types of the API's bodies, made from /openapi.json by `go test ./httpd -run TestTypeScript -rewrite`.\n")
	for _, name := range slices.Sorted(maps.Keys(document.Components.Schemas)) {
		schema := document.Components.Schemas[name]
		out.WriteString("\n" + comment(schema, "") + "export type " + name + " = " + typeOf(schema, "") + "\n")
	}
	return out.String()
}

// comment is a schema's description, on a line of its own.
func comment(schema object, indent string) string {
	text, _ := schema["description"].(string)
	if text == "" {
		return ""
	}
	return indent + "/** " + strings.ReplaceAll(text, "*/", "*\\/") + " */\n"
}

// typeOf is the type of the values that a schema takes; of what TypeScript can't say it takes more.
func typeOf(schema object, indent string) string {
	if ref, ok := schema["$ref"].(string); ok {
		return ref[strings.LastIndex(ref, "/")+1:]
	}
	if value, ok := schema["const"]; ok {
		return literal(value)
	}
	if values, ok := schema["enum"].([]any); ok {
		return union(values, literal)
	}
	switch kind := schema["type"].(type) {
	case []any:
		return union(kind, func(one any) string { return typeOf(object{"type": one}, indent) })
	case string:
		return typed(kind, schema, indent)
	}
	for _, word := range []string{"oneOf", "anyOf"} {
		if options, ok := schema[word].([]any); ok {
			return union(options, func(one any) string { return typeOf(one.(object), indent) })
		}
	}
	return "unknown"
}

// typed is the type of a schema with one type.
func typed(kind string, schema object, indent string) string {
	switch kind {
	case "object":
		return objectType(schema, indent)
	case "array":
		items, _ := schema["items"].(object)
		return "Array<" + typeOf(items, indent) + ">"
	case "integer", "number":
		return "number"
	}
	return kind // string, boolean, null
}

// objectType is the type of an object.
func objectType(schema object, indent string) string {
	properties, _ := schema["properties"].(object)
	if len(properties) == 0 {
		values, _ := schema["additionalProperties"].(object)
		return "Record<string, " + typeOf(values, indent) + ">"
	}
	required, _ := schema["required"].([]any)
	var out strings.Builder
	out.WriteString("{\n")
	inner := indent + "  "
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		mark := "?"
		if slices.Contains(required, any(name)) {
			mark = ""
		}
		property := properties[name].(object)
		fmt.Fprintf(&out, "%s%s%s%s: %s\n", comment(property, inner), inner, name, mark, typeOf(property, inner))
	}
	out.WriteString(indent + "}")
	return out.String()
}

func union(options []any, typeOf func(any) string) string {
	words := make([]string, len(options))
	for i, option := range options {
		words[i] = typeOf(option)
	}
	return strings.Join(words, " | ")
}

// literal is a value as a type.
func literal(value any) string {
	if text, ok := value.(string); ok {
		return strconv.Quote(text)
	}
	return fmt.Sprint(value)
}
