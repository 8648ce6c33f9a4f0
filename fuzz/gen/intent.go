package gen

import "strings"

// Case is one request: its body as a tree, and whether it comes from a shim's key.
type Case struct {
	Body *Node
	Shim bool
}

// Bytes returns the body.
func (c *Case) Bytes() []byte { return c.Body.Append(nil) }

// Writer writes requests for one policy.
type Writer struct {
	lore *lore

	r       *Rand
	slips   int    // of a hundred aspects of the request at hand, how many slip
	action  string // as it is sent
	lower   string
	request *Node // the whole body
	intent  *Node
	shim    bool
}

// NewWriter returns the writer for a policy, which must not change any more.
func NewWriter(p *Policy) *Writer { return &Writer{lore: newLore(p)} }

// Case makes one request.
func (w *Writer) Case(r *Rand) *Case {
	w.r = r
	switch n := r.N(100); {
	case n < 45:
		w.slips = 0
	case n < 85:
		w.slips = 12
	default:
		w.slips = 35
	}
	w.shim = r.Chance(50)
	if w.lore.needsShim {
		w.shim = !w.slip()
	}
	w.action = w.pickAction()
	w.lower = strings.ToLower(w.action)
	w.request, w.intent = object(""), object("intent")
	w.envelope()
	w.fields()
	w.metadata()
	w.custom()
	w.request.Kids = append(w.request.Kids, w.intent)
	if r.N(1000) < 15 {
		w.breakSchema()
	}
	return &Case{w.request, w.shim}
}

// slip says that the next aspect of the request goes wrong, by a little.
func (w *Writer) slip() bool { return w.slips > 0 && w.r.Chance(w.slips) }

// probe is slip for what the rules of the action's own section are about: it goes wrong more often, because there the
// borders are.
func (w *Writer) probe() bool { return w.slips > 0 && w.r.Chance(25+w.slips) }

// pickAction returns mostly an action that the policy grants.
func (w *Writer) pickAction() string {
	l, r := w.lore, w.r
	var from [][]string
	for _, list := range [][]string{l.evm, l.evm, l.tools, l.tools, l.profile, l.profile} {
		if len(list) > 0 {
			from = append(from, list)
		}
	}
	if len(l.mcp) > 0 {
		from = append(from, []string{"mcp." + One(r, l.mcp)}, []string{"mcp." + One(r, l.mcp)})
	}
	if len(l.listed) > 0 && r.Chance(50) {
		from = append(from, l.listed)
	}
	if len(l.others) > 0 && r.Chance(15) {
		from = append(from, l.others)
	}
	free := l.policy.Section("evm") == nil && l.policy.Section("tool_calls") == nil && l.policy.Section("mcp") == nil && len(l.profile) == 0
	if free {
		from = append(from, toolActions)
	}
	if len(from) == 0 || r.Chance(15) {
		from = append(from, []string{"model.inference"})
	}
	action := One(r, One(r, from))
	if !w.slip() {
		return action
	}
	return w.otherAction(action)
}

// otherAction returns an action that is not quite that one, or another altogether.
func (w *Writer) otherAction(action string) string {
	switch w.r.N(6) {
	case 0:
		return strings.ToUpper(action)
	case 1:
		return action + "x"
	case 2:
		return strings.TrimSuffix(action, action[len(action)-1:]) + " "
	case 3:
		return One(w.r, evmActions)
	case 4:
		return One(w.r, toolActions)
	}
	return "mcp." + One(w.r, servers) + "." + One(w.r, mcpTools)
}

const (
	commitment = `"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
	userOpHash = `"0x9F86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
)

// envelope writes what every request has around its intent.
func (w *Writer) envelope() {
	r := w.r
	w.request.text("framework", r.Pick("custom", "agent-1", "langchain"))
	w.request.text("agentId", r.Pick("agent-1", "agent", "a", "エージェント", "agent-1", "agent", anAddress(r)))
	if w.lower == "erc4337.userop" && r.Chance(60) {
		w.request.set("userOpHash", userOpHash)
	} else {
		w.request.set("txCommit", commitment)
	}
	if r.Chance(10) {
		w.request.text("context", r.Pick("because", "prod", "it's", "agent-1", "for "+anAddress(r)))
	}
	if r.Chance(10) {
		w.request.text("request_nonce", r.Pick("nonce", "1", "agent-1"))
	}
	w.intent.text("action", w.action)
	if w.needsTask() != w.slip() {
		w.intent.text("task_id", r.Pick("t", "task-1", "T_2", "t", "task-1", "T_2", anAddress(r)))
	}
}

// needsTask says whether a request should have a task id.
func (w *Writer) needsTask() bool {
	return w.lore.usage || w.r.Chance(80)
}

// isEVM says whether the policy judges the action as an EVM intent.
func (w *Writer) isEVM() bool {
	for _, core := range evmActions[:4] {
		if w.lower == core {
			return true
		}
	}
	for _, action := range w.lore.evm {
		if strings.EqualFold(action, w.action) {
			return true
		}
	}
	return false
}

// fields writes the fields that the action's kind has.
func (w *Writer) fields() {
	switch {
	case w.isEVM():
		w.evmFields()
	default:
		w.toolFields()
		if len(w.lore.chains) > 0 && w.r.Chance(30) {
			w.chain()
		}
		if w.slip() && w.r.Chance(25) {
			w.strayField()
		}
	}
}

// strayField writes a field that only EVM intents may have.
func (w *Writer) strayField() {
	switch field := w.r.Pick("targetAddress", "token", "amount", "amount_unit", "calldata", "maxFee"); field {
	case "amount", "maxFee":
		w.intent.text(field, "0")
	case "amount_unit":
		w.intent.text(field, "base")
	case "calldata":
		w.intent.text(field, "0x00")
	default:
		w.intent.text(field, One(w.r, addresses))
	}
}

// chain writes a chain that is mostly allowed.
func (w *Writer) chain() {
	if chains := w.lore.chains; len(chains) > 0 && !w.slip() {
		w.request.set("chainId", One(w.r, chains))
		return
	}
	if w.r.Chance(65) {
		w.request.set("chainId", w.r.Pick(chains...))
	}
}

// breakSchema makes a request that no policy accepts.
func (w *Writer) breakSchema() {
	switch w.r.N(7) {
	case 0:
		w.request.drop("agentId")
	case 1:
		w.intent.set("unknown", "1")
	case 2:
		w.request.Kids = append(w.request.Kids, &Node{Name: "chainId", Raw: w.r.Pick("5", "1.5", `"1"`, "null")})
	case 3:
		w.intent.Kids = append(w.intent.Kids, &Node{Name: "action", Raw: Quote(w.action)})
	case 4:
		w.request.text("action", w.action+"y")
	case 5:
		w.intent.Kids = append(w.intent.Kids, &Node{Name: "Path", Raw: `"x"`})
	default:
		w.intent.drop("metadata")
		w.intent.set("metadata", w.r.Pick(`"x"`, "[]", `{"n":1e400}`, `{"a":1,"a":1}`, `{"model_usage":{"total_tokens":-1}}`))
	}
}
