package settings

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"bailiff/fuzz/kit/page"
)

// chartFolder has the Helm chart.
const chartFolder = "../packaging/helm/bailiff"

// notInChart are the settings that a pod has no use for.
var notInChart = map[string]string{
	"SVC_SETTINGS_FILE":         "a change of settings starts a new pod",
	"SVC_LISTEN_UNIX":           "there is no other process in the pod",
	"SVC_LISTEN_UNIX_MODE":      "the same",
	"SVC_PPROF_LISTEN":          "it shows memory, API keys included",
	"SVC_PPROF_REMOTE":          "the same",
	"SVC_CONSOLE_LISTEN":        "bailiff console opens one",
	"SVC_KEY_DIR":               "it is in the data folder, or the keys come from a Secret",
	"SVC_WEBHOOK_ALLOW_PRIVATE": "it is for development",
}

// oneOf are the values of the chart that are one of a few words.
var oneOf = map[string][]any{
	"image.pullPolicy":       {"Always", "IfNotPresent", "Never"},
	"service.type":           {"ClusterIP", "NodePort", "LoadBalancer"},
	"persistence.accessMode": {"ReadWriteOnce", "ReadWriteOncePod"},
}

type object = map[string]any

// chartTexts returns the files of the chart that may name settings, by their paths.
func chartTexts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir(chartFolder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) == ".json" {
			return err
		}
		text, err := os.ReadFile(path)
		texts[filepath.ToSlash(path[len(chartFolder)+1:])] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

var (
	settingNamed = regexp.MustCompile(`\b(?:SVC_[A-Za-z0-9_]+|WARRANTY_PATH)`)
	settingMade  = regexp.MustCompile(`(?m)^(SVC_\w+|WARRANTY_PATH): `)
)

// unknownSettings returns the settings that a text names and the table does not have. A name that ends in _ is the beginning of
// those of all chains.
func unknownSettings(text string) (unknown []string) {
	for _, name := range settingNamed.FindAllString(text, -1) {
		if strings.HasSuffix(name, "_") {
			name += "1"
		}
		if RowOf(name) == nil {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// TestChartSettings: every setting that the chart names is one of the table, and every one of the table is made by the chart,
// offered by it, or left out for a reason.
func TestChartSettings(t *testing.T) {
	texts := chartTexts(t)
	for path, text := range texts {
		if unknown := unknownSettings(text); len(unknown) > 0 {
			t.Errorf("%s names %q, which is not a setting", path, unknown)
		}
	}
	if got := unknownSettings("env: SVC_LISTN, SVC_RPC_URL_0, SVC_MAX_FE_"); len(got) != 3 {
		t.Errorf("of three planted names %q are found", got)
	}
	made := madeByChart(t)
	if len(made) < 15 {
		t.Errorf("the chart makes %q; its form has changed", made)
	}
	for _, row := range Table {
		if _, out := notInChart[row.Name]; out && slices.Contains(made, row.Name) {
			t.Errorf("%s is left out of the chart, and made by it", row.Name)
		}
	}
	for name := range notInChart {
		if RowOf(name) == nil {
			t.Errorf("%s is left out of the chart, and not a setting", name)
		}
	}
}

// madeByChart returns the settings that the chart makes of its other values.
func madeByChart(t *testing.T) (names []string) {
	t.Helper()
	for _, made := range settingMade.FindAllStringSubmatch(chartTexts(t)["templates/_helpers.tpl"], -1) {
		names = append(names, made[1])
	}
	return names
}

// offered returns the schemas of the settings that the chart takes, and those that it takes out of Secrets.
func offered(t *testing.T) (settings, secrets object) {
	t.Helper()
	groups := map[bool]object{}
	for _, secret := range []bool{false, true} {
		groups[secret] = object{"type": "object", "additionalProperties": false, "properties": object{}, "patternProperties": object{}}
	}
	made := madeByChart(t)
	for _, row := range Table {
		if _, out := notInChart[row.Name]; out || slices.Contains(made, row.Name) {
			continue
		}
		value := object{"type": "string", "minLength": 1}
		secret := row.secret || row.Name == "SVC_OTLP_HEADERS"
		switch {
		case secret:
			value = object{"type": "object", "additionalProperties": false, "required": []any{"key", "name"}, "properties": object{"key": value, "name": value}}
		case reflect.TypeFor[Settings]().Field(row.field).Type.Kind() == reflect.Bool:
			value = object{"enum": []any{true, false, "true", "false"}}
		case row.enum != "":
			value = object{"enum": toAny(strings.Split(row.enum, ","))}
		}
		named := object{"description": row.help}
		for key, part := range value {
			named[key] = part
		}
		if prefix, perChain := strings.CutSuffix(row.Name, chainSuffix); perChain {
			groups[secret]["patternProperties"].(object)["^"+prefix+"[1-9][0-9]{0,15}$"] = named
		} else {
			groups[secret]["properties"].(object)[row.Name] = named
		}
	}
	return groups[false], groups[true]
}

func toAny(words []string) (values []any) {
	for _, word := range words {
		values = append(values, word)
	}
	return values
}

// schemaOf makes the schema of a value of the chart from its default: maps that are not empty have these keys and no others.
func schemaOf(path string, value any) object {
	if words := oneOf[path]; words != nil {
		return object{"enum": words}
	}
	switch value := value.(type) {
	case object:
		schema := object{"type": "object"}
		if len(value) > 0 && path != "resources" {
			properties := object{}
			for name, part := range value {
				properties[name] = schemaOf(strings.TrimPrefix(path+"."+name, "."), part)
			}
			schema["properties"], schema["additionalProperties"] = properties, false
		}
		return schema
	case []any:
		return object{"type": "array"}
	case bool:
		return object{"type": "boolean"}
	case int:
		return object{"type": "integer"}
	}
	return object{"type": "string"}
}

// at makes the schema of a value inside of others, by its path.
func at(path string, schema any) object {
	group, rest, inside := strings.Cut(path, ".")
	if inside {
		schema = at(rest, schema)
	}
	return object{"properties": object{group: schema}}
}

// combinations are the conditions on several values: what several instances need, and what the service refuses over PostgreSQL.
func combinations(t *testing.T) (conditions []any) {
	t.Helper()
	set, unset, some := object{"minLength": 1}, object{"const": ""}, object{"minProperties": 1}
	when := func(condition object, then ...any) {
		conditions = append(conditions, object{"if": condition, "then": object{"allOf": then}})
	}
	store, pairs := at("store.existingSecret", set), object{"anyOf": []any{at("peers.existingSecret", set), at("peers.csi", some)}}
	when(at("replicas", object{"minimum": 2}), store, pairs, at("signingKeys.existingSecret", set))
	when(object{"anyOf": []any{pairs, at("store.caSecret", set)}}, store)
	when(at("peers.csi", some), at("peers.existingSecret", unset))
	when(store, at("internal.existingSecret", unset)) // a Service finds no pod by whether it decides
	// What each pod exports stays on its volume, which has 2 GiB over a store unless the values say otherwise.
	when(object{"allOf": []any{store, at("settings", object{"required": []any{"SVC_EVENT_RETENTION"}})}}, at("persistence.size", set))
	return conditions
}

// TestChartSchema makes the schema of the chart's values: from the defaults, and from the table of settings.
func TestChartSchema(t *testing.T) {
	var values object
	if err := yaml.Unmarshal([]byte(chartTexts(t)["values.yaml"]), &values); err != nil {
		t.Fatal(err)
	}
	schema := schemaOf("", values)
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	properties := schema["properties"].(object)
	properties["global"] = object{"type": "object"} // of charts that this one is part of
	properties["settings"], properties["secretSettings"] = offered(t)
	properties["replicas"].(object)["minimum"] = 1
	schema["allOf"] = combinations(t)
	for path := range oneOf {
		group, name, _ := strings.Cut(path, ".")
		if _, ok := values[group].(object)[name]; !ok {
			t.Errorf("the chart has no value %s", path)
		}
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(schema); err != nil {
		t.Fatal(err)
	}
	page.Whole(t, filepath.Join(chartFolder, "values.schema.json"), "make golden", text.String())
}
