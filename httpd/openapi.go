package httpd

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"bailiff/runtime/holds"
	"bailiff/runtime/ledger"
	"bailiff/runtime/subject"
	"bailiff/vm/errcode"
	"bailiff/vm/slot"
)

// An answer is what a route may answer with a status: a schema of schemas.json, a media type that is not JSON, or
// nothing.
type answer struct {
	status int
	schema string
}

// schemaText is the schemas of the API's bodies (JSON Schema 2020-12). Those of the intent and of the codes are made
// from their tables.
//
//go:embed schemas.json
var schemaText []byte

// object is a JSON object of the document.
type object = map[string]any

// newOpenAPI returns the OpenAPI 3.1 document of the API, made from the table of routes.
func newOpenAPI(c *Config) (object, error) {
	schemas, err := schemas()
	if err != nil {
		return nil, err
	}
	server := c.PublicURL
	if server == "" {
		server = "/"
	}
	paths := object{}
	for _, r := range resources {
		item := object{}
		for _, row := range r.byMethod {
			item[strings.ToLower(row.method)] = operation(row)
		}
		if r.parameter != "" {
			item["parameters"] = []object{pathParameter(r.parameter)}
		}
		paths[r.path] = item
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Bailiff", "version": specVersion,
			"description": "Decides whether an agent may do what it intends to, by a policy that its operator has signed.",
		},
		"servers": []object{{"url": server}},
		"paths":   paths,
		"components": object{
			"schemas": schemas,
			"securitySchemes": object{
				"apiKey":      object{"type": "http", "scheme": "bearer", "description": "an API key, sk_svc_…"},
				"attestation": object{"type": "http", "scheme": "bearer", "description": "an intent attestation; Svc-Receipt carries it as well"},
			},
		},
	}, nil
}

// operation is the document of one route.
func operation(row *route) object {
	o := object{"operationId": row.id, "summary": row.summary, "responses": responses(row)}
	switch {
	case row.access.keyed:
		o["security"] = []object{{"apiKey": []string{}}}
		if row.access.scope != 0 {
			o["description"] = "Needs the scope " + row.access.scope.String() + "."
		}
	case row.bodyBytes == gatewayBodyBytes:
		o["security"] = []object{{}, {"attestation": []string{}}}
		o["description"] = "Reads are public; a write needs an attestation."
	default:
		o["security"] = []object{}
	}
	if row.request != "" {
		o["requestBody"] = object{"required": true, "content": content(row.request), "description": "At most " + strconv.Itoa(row.bodyBytes) + " bytes."}
	}
	if parameters := parameters(row); len(parameters) > 0 {
		o["parameters"] = parameters
	}
	return o
}

// responses are the route's own answers, and what every route answers that is bounded as it is.
func responses(row *route) object {
	all, refusal := map[int]string{500: "Error"}, "Error"
	if row.always {
		return object{"200": object{"description": fasthttp.StatusMessage(fasthttp.StatusOK), "headers": headers(fasthttp.StatusOK, row), "content": content(row.answers[0].schema)}}
	}
	if row.limit == decisionLimit {
		refusal = "Refusal"
	}
	unable := "Error"
	if evaluates([]byte(row.path)) {
		refusal, unable = "Message", "Message"
		all[500] = unable
	}
	if row.limit != noLimit {
		all[429], all[503] = refusal, unable
	}
	if row.access.keyed {
		all[401] = refusal
	}
	if row.access.scope != 0 {
		all[403] = refusal
	}
	if row.bodyBytes > 0 {
		all[400], all[413] = refusal, refusal
	}
	for _, a := range row.answers {
		all[a.status] = a.schema
	}
	document := object{}
	for status, schema := range all {
		response := object{"description": fasthttp.StatusMessage(status), "headers": headers(status, row)}
		if schema != "" {
			response["content"] = content(schema)
		}
		document[strconv.Itoa(status)] = response
	}
	return document
}

// headers are the fields of an answer that a client may look for.
func headers(status int, row *route) object {
	text := func(description string) object {
		return object{"description": description, "schema": object{"type": "string"}}
	}
	all := object{"X-Request-Id": text("the request's own, if it was well-formed, or a new one")}
	if row.limit != noLimit {
		all["RateLimit-Policy"] = text("the limits that count the request")
		all["RateLimit"] = text("what they leave")
	}
	if status == 429 || status == 503 && row.bodyBytes > 0 || row.always || status == 200 && evaluates([]byte(row.path)) {
		all["Retry-After"] = object{"description": "seconds to wait, where a rate limit refuses or the body has no room", "schema": object{"type": "integer"}}
	}
	if status == 401 {
		all["WWW-Authenticate"] = text("how to authenticate: Bearer")
	}
	if row.limit == decisionLimit && !row.always {
		all["Server-Timing"] = text("how long the stages took, where the request asked")
	}
	return all
}

func content(schema string) object {
	if strings.Contains(schema, "/") {
		return object{schema: object{"schema": object{"type": "string"}}}
	}
	return object{"application/json": object{"schema": reference(schema)}}
}

func reference(schema string) object { return object{"$ref": "#/components/schemas/" + schema} }

// pathParameter is the parameter of a path: nothing but what may be in a path as it is sent.
func pathParameter(name string) object {
	return object{"name": name, "in": "path", "required": true, "schema": object{"type": "string", "minLength": 1}}
}

// queryParameters are the schemas of all parameters of queries.
var queryParameters = object{
	"server":   object{"type": "string", "minLength": 1, "maxLength": ledger.MaxServerName, "description": "the MCP server, as actions name it; required"},
	"explain":  object{"type": "string", "enum": []string{"true", "false"}},
	"wait":     object{"type": "integer", "minimum": 0, "maximum": int(holds.MaxWait / time.Second), "description": "seconds in which the hold may be resolved before the answer comes; 0 unless it is set"},
	"after":    object{"type": "string", "pattern": "^(0|[1-9][0-9]*)$"},
	"from":     reference("Time"),
	"to":       reference("Time"),
	"decision": object{"type": "string", "enum": []string{"ALLOWED", "DENIED", "PENDING", "TEST_RUN"}},
	"rule":     object{"type": "string", "minLength": 1, "description": "matchedRule of the events"},
	"agent":    object{"type": "string", "minLength": 1, "description": "agentId of the events"},
	"task":     object{"type": "string", "minLength": 1, "description": "taskId of the events"},
	"action":   object{"type": "string", "minLength": 1, "description": "action of the events, in any case"},
	"limit":    object{"type": "integer", "minimum": 1, "maximum": maxEvents, "default": usualEvents},
}

func parameters(row *route) []object {
	var all []object
	for _, name := range row.query {
		all = append(all, object{"name": name, "in": "query", "schema": queryParameters[name]})
	}
	if row.limit == decisionLimit && !row.always {
		all = append(all, object{
			"name": timingRequest, "in": "header", "schema": object{"type": "string"},
			"description": "on: the answer says how long its stages took",
		})
	}
	return all
}

// schemas are all schemas of the document.
func schemas() (object, error) {
	all := object{}
	if err := json.Unmarshal(schemaText, &all); err != nil {
		return nil, fmt.Errorf("schemas.json: %w", err)
	}
	all["FailureCode"], all["DecisionCode"] = codes(errcode.Failure), codes(errcode.Denial, errcode.Hold)
	all["Intent"], all["Subject"] = intentSchema(), subjectSchema()
	return all, nil
}

// subjectSchema is the schema of what an event says a decision was about, made from the table of its fields.
func subjectSchema() object {
	members := object{}
	for _, row := range subject.Table {
		members[row.Name] = object{"type": "string", "minLength": 1, "maxLength": row.Max, "description": row.Doc}
		if row.Further != "" {
			members[row.Further] = object{"type": "integer", "minimum": 1, "description": "how many more there are than " + row.Name}
		}
	}
	return object{
		"type": "object", "minProperties": 1, "additionalProperties": false, "properties": members,
		"description": "what the decision was about, with credentials masked; what does not apply is absent",
	}
}

// codes is the schema of the codes of some classes.
func codes(classes ...errcode.Class) object {
	var names []string
	for _, row := range errcode.Table {
		if slices.Contains(classes, row.Class) {
			names = append(names, string(row.Code))
		}
	}
	return object{"enum": names}
}

// intentSchema is the schema of the body of authorize and test-run, made from the decoder's table of fields.
func intentSchema() object {
	top, inside := object{}, object{}
	var required []string
	var oneOf []object
	for _, row := range slot.Fields() {
		schema := fieldSchema(&row)
		if row.Place&slot.Top != 0 {
			top[row.Name] = schema
		}
		if row.Place&slot.Inside != 0 {
			inside[row.Name] = maps.Clone(schema)
		}
		switch {
		case row.Presence == slot.Required && row.Place == slot.Top:
			required = append(required, row.Name)
		case row.Presence == slot.OneOf:
			oneOf = append(oneOf, object{"required": []string{row.Name}})
		}
	}
	top["intent"] = object{"type": "object", "additionalProperties": false, "properties": inside}
	return object{
		"type": "object", "additionalProperties": false, "properties": top, "required": required, "oneOf": oneOf,
		"anyOf": []object{{"required": []string{"action"}}, {"required": []string{"intent"}, "properties": object{"intent": object{"required": []string{"action"}}}}},
	}
}

// fieldSchema is the schema of one field of a request.
func fieldSchema(row *slot.Row) object {
	var types []object
	for _, one := range []struct {
		kind   slot.Type
		schema object
	}{
		{slot.Text, object{"type": "string"}},
		{slot.Integer, object{"type": "integer"}},
		{slot.Texts, object{"type": "array", "items": object{"type": "string"}}},
		{slot.Members, object{"type": "object"}},
	} {
		if row.Type&one.kind != 0 {
			types = append(types, one.schema)
		}
	}
	if len(types) == 1 {
		types[0]["description"] = row.Bound
		return types[0]
	}
	return object{"anyOf": types, "description": row.Bound}
}
