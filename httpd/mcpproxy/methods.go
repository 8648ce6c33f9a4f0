package mcpproxy

import "strings"

// treatment is what the proxy does with a message of one method.
type treatment uint8

const (
	judged    treatment = iota // the service decides
	passes                     // it is forwarded unjudged
	answering                  // forwarded only with AllowServerRequests
)

// A method is one row of the table of methods: docs/mcp.md is made of it.
type method struct {
	name      string
	treatment treatment
	members   []string // of params, besides _meta; others are forwarded, and none may differ from these in case only
	name1     string   // the member that names what is asked for; the header Mcp-Name has it
	why       string   // why it passes unjudged, or what is judged
	carries   bool     // what a server's message says can come from a tool, so response rules count for it
	// spare reports whether params of a judged method ask for nothing that has to be judged.
	spare func(params []member) bool
}

// clientRequests are the requests that a client may send.
var clientRequests = []method{
	{name: "tools/call", members: []string{"name", "arguments", "task", "inputResponses", "requestState"}, name1: "name", why: "as `mcp.<server>.<tool>`, with its arguments"},
	{name: "resources/read", members: []string{"uri", "inputResponses", "requestState"}, name1: "uri", why: "reads"},
	{name: "resources/directory/read", members: []string{"uri", "cursor"}, name1: "uri", why: "reads"},
	{name: "prompts/get", members: []string{"name", "arguments", "inputResponses", "requestState"}, name1: "name", why: "runs a template of the server's"},
	{name: "resources/subscribe", members: []string{"uri"}, why: "reads from then on"},
	{name: "subscriptions/listen", members: []string{"notifications"}, why: "where it names resources; for changes of lists alone it passes, as they carry no content", spare: listensToListsOnly},
	{name: "completion/complete", members: []string{"ref", "argument", "context"}, why: "asks the server for values"},
	{name: "tasks/get", members: []string{"taskId"}, why: "reads"},
	{name: "tasks/result", members: []string{"taskId"}, why: "reads"},
	{name: "tasks/list", members: []string{"cursor"}, why: "reads what other calls began"},
	{name: "tasks/update", members: []string{"taskId", "inputResponses"}, why: "acts"},
	{name: "tasks/cancel", members: []string{"taskId"}, why: "acts"},
	{name: "initialize", treatment: passes, members: []string{"protocolVersion", "capabilities", "clientInfo"}, why: "agrees on a revision and on capabilities"},
	{name: "server/discover", treatment: passes, why: "the same, from 2026-07-28 on"},
	{name: "ping", treatment: passes, why: "asks for an empty answer"},
	{name: "tools/list", treatment: passes, members: []string{"cursor"}, why: "lists what can be asked for; each call is judged, and `--hide-denied` filters the list"},
	{name: "resources/list", treatment: passes, members: []string{"cursor"}, why: "lists names; each read is judged"},
	{name: "resources/templates/list", treatment: passes, members: []string{"cursor"}, why: "lists names; each read is judged"},
	{name: "prompts/list", treatment: passes, members: []string{"cursor"}, why: "lists names; each prompt is judged"},
	{name: "resources/unsubscribe", treatment: passes, members: []string{"uri"}, why: "ends a subscription that was judged when it began"},
	{name: "logging/setLevel", treatment: passes, members: []string{"level"}, why: "chooses which log messages this client gets"},
}

// clientNotifications are the notifications that a client may send. They may have these members and no others: their
// content is not judged.
var clientNotifications = []method{
	{name: "notifications/initialized", treatment: passes, why: "ends the handshake"},
	{name: "notifications/cancelled", treatment: passes, members: []string{"requestId", "reason"}, why: "only for a request that was forwarded; one that is still being judged ends without being forwarded"},
	{name: "notifications/progress", treatment: passes, members: []string{"progressToken", "progress", "total", "message"}, why: "about a request of the server's"},
	{name: "notifications/roots/list_changed", treatment: passes, why: "carries no content"},
}

// serverRequests are the requests that a server may send.
var serverRequests = []method{
	{name: "ping", treatment: passes, why: "asks for an empty answer"},
	{name: "sampling/createMessage", treatment: answering, carries: true, why: "makes the client's model work for the server"},
	{name: "elicitation/create", treatment: answering, carries: true, why: "asks the user"},
	{name: "roots/list", treatment: answering, why: "reads the client's folders"},
	{name: "tasks/get", treatment: answering, why: "reads the client's tasks"},
	{name: "tasks/result", treatment: answering, why: "reads the client's tasks"},
	{name: "tasks/list", treatment: answering, why: "reads the client's tasks"},
	{name: "tasks/cancel", treatment: answering, why: "acts on the client's tasks"},
}

// serverNotifications are the notifications that a server may send.
var serverNotifications = []method{
	{name: "notifications/cancelled", treatment: passes, carries: true, why: "ends a request"},
	{name: "notifications/progress", treatment: passes, carries: true, why: "about a request that was forwarded"},
	{name: "notifications/message", treatment: passes, carries: true, why: "a log message"},
	{name: "notifications/tools/list_changed", treatment: passes, why: "the proxy lists the tools again before the next call of any client"},
	{name: "notifications/resources/list_changed", treatment: passes, why: "carries no content"},
	{name: "notifications/prompts/list_changed", treatment: passes, why: "carries no content"},
	{name: "notifications/resources/updated", treatment: passes, why: "names a resource; its reading is judged"},
	{name: "notifications/elicitation/complete", treatment: passes, why: "ends a question to the user"},
	{name: "notifications/tasks/status", treatment: passes, carries: true, why: "the state of a task; its result is judged"},
	{name: "notifications/tasks", treatment: passes, carries: true, why: "the same, in the extension of 2026-07-28"},
	{name: "notifications/subscriptions/acknowledged", treatment: passes, why: "names the subscription"},
}

// find returns the row of a method, nil where the table has none.
func find(table []method, name string) *method {
	for i := range table {
		if table[i].name == name {
			return &table[i]
		}
	}
	return nil
}

// action is the action of an intent for a method that is not a call of a tool.
func (m *method) action(server string) string {
	return "mcp." + server + "." + strings.ReplaceAll(m.name, "/", ".")
}

// takenBy returns the method whose action a call of tool would have as well, nil where there is none. Such a call is
// refused: what a policy says about the method would count for the tool.
func takenBy(tool string) *method {
	for i := range clientRequests {
		m := &clientRequests[i]
		if m.treatment == judged && strings.EqualFold(strings.ReplaceAll(m.name, "/", "."), tool) {
			return m
		}
	}
	return nil
}

// listensToListsOnly reports whether params of subscriptions/listen name no resource.
func listensToListsOnly(params []member) bool {
	filter, ok := valueOf(params, "notifications")
	if !ok {
		return true
	}
	members, err := readObject(filter)
	if err != nil {
		return false
	}
	for _, m := range members {
		switch m.name {
		case "toolsListChanged", "promptsListChanged", "resourcesListChanged":
		default:
			return false
		}
	}
	return true
}

// methodTable is the table of one kind of message, for docs/mcp.md: the name, what happens to it, and why.
func methodTable(kind string) [][3]string {
	table := map[string][]method{
		"client requests": clientRequests, "client notifications": clientNotifications,
		"server requests": serverRequests, "server notifications": serverNotifications,
	}[kind]
	rows := make([][3]string, 0, len(table))
	for i := range table {
		m := &table[i]
		what := map[treatment]string{judged: "judged", passes: "passes", answering: "refused unless `--allow-server-requests`"}[m.treatment]
		if m.carries {
			what += "; inspected"
		}
		if m.treatment == judged && m.name != "tools/call" {
			what = "judged as `" + m.action("<server>") + "`"
		}
		rows = append(rows, [3]string{m.name, what, m.why})
	}
	return rows
}
