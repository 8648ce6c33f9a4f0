package gen

import (
	"slices"
	"strings"
)

// metadata writes what sections other than the action's own look at.
func (w *Writer) metadata() {
	w.mcp()
	w.usage()
	w.evidence()
	for _, c := range w.lore.caps {
		if c.group != "" {
			w.member(c.group, w.r.Pick(`"acme"`, `"7"`, "7", "true", Quote(anAddress(w.r))), `{}`, `[]`, `["a"]`, "null", `""`)
		}
		if c.field != "" {
			w.member(c.field, w.r.Pick(`"1"`, `"0.01"`, `"250.50"`, `"0"`, `"1000000"`), "1", `"x"`, `"-1"`, "null", `"0.0000000000000000001"`,
				`"115792089237316195423570985008687907853269984665640564039457584007913129639936"`, "{}")
		}
	}
	if w.r.Chance(15) {
		w.intent.text("arguments.note", One(w.r, words))
	}
}

// member writes a value below metadata or arguments or, where it slips, one of the others or none.
func (w *Writer) member(path, good string, bad ...string) {
	if !strings.HasPrefix(path, "metadata.") && !strings.HasPrefix(path, "arguments.") {
		return
	}
	if !w.slip() {
		w.intent.set(path, good)
	} else if w.r.Chance(70) {
		w.intent.set(path, One(w.r, bad))
	}
}

// mcp writes the parts of an MCP action where a client repeats them.
func (w *Writer) mcp() {
	server, tool, ok := strings.Cut(strings.TrimPrefix(w.lower, "mcp."), ".")
	if !ok || !strings.HasPrefix(w.lower, "mcp.") || w.r.Chance(60) {
		return
	}
	if w.r.N(25) == 0 {
		server = "other"
	}
	w.intent.text("metadata.serverId", w.r.Pick(server, strings.ToUpper(server)))
	w.intent.text("metadata.toolName", tool)
}

// usage writes the model usage of the task.
func (w *Writer) usage() {
	r := w.r
	if w.lore.usage == w.slip() || !w.lore.usage && r.Chance(70) {
		return
	}
	const at = "metadata.model_usage."
	if r.Chance(20) {
		w.intent.text(at+"provider", "p")
		w.intent.text(at+"model", "m-1")
	}
	if !w.slip() {
		w.intent.text(at+"estimated_spend_usd", r.Pick("0", "2.5", "2.50", "0.0000001", "0.000001", "10.000000000000000001", "1000000"))
	}
	switch {
	case r.Chance(15):
		w.intent.set(at+"input_tokens", r.Pick("0", "7", "40"))
		w.intent.set(at+"output_tokens", r.Pick("0", "3", "40"))
		w.intent.set(at+"total_tokens", r.Pick("0", "5", "80", "1000"))
	case r.Chance(50):
		w.intent.set(at+"total_tokens", r.Pick("0", "1", "10", "1000", "9007199254740991"))
	case !w.slip():
		w.intent.set(at+"input_tokens", r.Pick("0", "7", "9007199254740991"))
		w.intent.set(at+"output_tokens", r.Pick("0", "3", "9007199254740991"))
	default:
		w.intent.set(at+r.Pick("input_tokens", "output_tokens"), "5")
	}
}

// custom writes what custom rules look at: what allow_only wants, and not what deny_if refuses, unless it slips.
func (w *Writer) custom() {
	r := w.r
	for _, rule := range w.lore.allowances {
		if rule.scope == "" || covers(rule.scope, w.lower) {
			w.allowed(rule)
		}
	}
	for _, rule := range w.lore.denials {
		switch {
		case rule.operator == "not_equals" && w.probe() && strings.HasPrefix(rule.path, "metadata."):
			w.intent.set(rule.path, "["+Quote(rule.values[0])+","+Quote(w.near(rule))+"]")
		case w.slip() && strings.HasPrefix(rule.path, "metadata.") && r.Chance(20):
			w.intent.set(rule.path, r.Pick("[[", "[{},[")+Quote(w.near(rule))+"]]")
		case w.slip() && rule.path == "":
			w.intent.text("metadata.said", "… "+w.near(rule)+" …")
		case w.slip() && r.Chance(25) && strings.Count(rule.path, ".") > 1 && strings.HasPrefix(rule.path, "metadata."):
			w.listOfObjects(rule)
		case w.slip():
			w.place(rule.path, w.near(rule))
		case rule.operator == "not_equals":
			w.place(rule.path, rule.values[0])
		}
	}
	if r.Chance(30) {
		w.intent.text("metadata.note", metadataValue(r))
	}
	if r.Chance(30) {
		w.intent.set("metadata.n", r.Pick("1", "1.0", "true", "0.1", "1e3", "null", `"1"`, "[]"))
	}
}

// allowed writes a value that the rule lists, alone or in an array; where it slips one that is nearly so.
func (w *Writer) allowed(rule rule) {
	if rule.path == "" {
		return
	}
	value := w.good(rule)
	if w.slip() {
		value = w.near(rule)
	}
	underMetadata := strings.HasPrefix(rule.path, "metadata.") || strings.HasPrefix(rule.path, "arguments.")
	switch {
	case w.slip() && w.r.Chance(50):
	case underMetadata && w.r.Chance(12):
		other := value
		if w.slip() {
			other = One(w.r, words)
		}
		w.intent.set(rule.path, "["+Quote(value)+","+Quote(other)+"]")
	case underMetadata && w.slip():
		w.intent.set(rule.path, w.r.Pick("{}", "[]", "null", "[[]]", `[{"a":1}]`, "[null]", "[["+Quote(value)+"]]"))
	case underMetadata && (value == "1" || value == "true") && w.r.Chance(50):
		w.intent.set(rule.path, value)
	default:
		w.place(rule.path, value)
	}
}

// listOfObjects writes a value in one of several objects, in a list where the rule's path has an object.
func (w *Writer) listOfObjects(rule rule) {
	above, name, _ := cutLast(rule.path)
	found, other := Quote(name)+":"+Quote(w.near(rule)), Quote(name)+":"+Quote(One(w.r, words))
	w.intent.set(above, w.r.Pick("[{"+found+"}]", "[{"+other+"},{"+found+"}]", "[{},{"+found+`}]`, `["x",{`+found+"}]", "[[{"+found+"}]]"))
}

// cutLast cuts the last segment off a path.
func cutLast(path string) (above, name string, deeper bool) {
	at := strings.LastIndexByte(path, '.')
	if at < 0 {
		return "", path, false
	}
	return path[:at], path[at+1:], true
}

// shapedFields are fields that only a value of their own shape may replace.
var shapedFields = []string{"url", "cwd", "host", "amount", "token", "targetAddress", "calldata", "query"}

// place writes a text at a path. Fields that the request has keep their value mostly, since it was chosen with care.
func (w *Writer) place(path, value string) {
	first, _, deeper := strings.Cut(path, ".")
	switch {
	case deeper:
		w.intent.text(path, value)
		return
	case first == "agentId" || first == "framework" || first == "context" || first == "request_nonce":
		w.request.drop(first)
		w.request.text(first, value)
		return
	case slices.Contains(shapedFields, first):
		if w.intent.member(first) != nil && w.r.Chance(60) {
			if first == "url" && !strings.HasPrefix(strings.ToLower(value), "http") {
				value = "https://api.example.com/" + strings.TrimLeft(value, "/")
			}
			w.intent.drop(first)
			w.intent.text(first, value)
		}
	case first == "path" && w.intent.member("paths") != nil:
		w.addPath(value)
	case first == "command" || first == "path" || first == "to" || first == "task_id":
		if w.intent.member(first) != nil || first == "to" || first == "task_id" {
			w.intent.drop(first)
			w.intent.text(first, value)
		}
	}
}

// good returns a text that satisfies the rule.
func (w *Writer) good(rule rule) string {
	value := One(w.r, rule.values)
	switch rule.operator {
	case "contains":
		return w.r.Pick("", "<") + value + w.r.Pick("", ">")
	case "starts_with", "prefix":
		return value + w.r.Pick("", "-x")
	case "ends_with":
		return w.r.Pick("", "x-") + value
	case "matches":
		return goodText(w.r, value)
	}
	return value
}

// near returns a text that the rule's value is, or is not quite.
func (w *Writer) near(rule rule) string {
	value := One(w.r, rule.values)
	if rule.operator == "matches" {
		value = goodText(w.r, value)
	}
	switch w.r.N(8) {
	case 0:
		return strings.ToUpper(value)
	case 1:
		return strings.ToLower(value)
	case 2:
		return value + "x"
	case 3:
		return "x" + value
	case 4:
		return strings.TrimSuffix(value, value[max(len(value)-1, 0):])
	}
	return value
}
