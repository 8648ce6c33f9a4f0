package gen

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// The texts that rules compare with fields, in normal and in other spellings.
var (
	recipientTexts = []string{"ann@example.com", "Ann@Example.com", "<ann@example.com>", "dan@example.com", "carol@example.edu", "Sales@sub.example.com",
		"bob@bücher.example", "bob@xn--bcher-kva.example", "@example.com", "jörg@example.com", "ops-dan@example.net"}
	hostTexts = []string{"api.example.com", "API.Example.com", "api.example.com.", "bücher.example", "xn--bcher-kva.example", "10.0.0.1", "167772161",
		"good.test", "evil.example", "example.com", "www.example.org", "8.8.8.8"}
	urlTexts = []string{"https://api.example.com/v1/x", "https://API.example.com:443/v1/x", "https://api.example.com", "https://api.example.com/", "http://good.test",
		"http://good.test:80/#top", "https://bücher.example/a%2fb", "https://api.example.com/%61dmin?q=abc", "api.example.com/v1", "/v1/x", "https://8.8.8.8/", "?q=abc"}
	pathTexts = []string{"src/main.go", `src\main.go`, "./src//main.go", "/etc", "/etc/passwd", "/workspace/repo/a.txt", "/workspace/./repo//a.txt", "README.md", "a/b",
		"~/.ssh", "/home/bob/notes", "src/"}
	amountTexts   = []string{"0.5", "0.50", "00.5", "1", "1.0", "0", "0.0", "250", "0.25", "0.000009", "000", "1.50", "1.5", "500000000000000000"}
	symbolTexts   = []string{"USDC", "usdc", "UsDc", "DAI", "WBTC", "Pts", "USDT", "A-B_1", "WETH"}
	calldataTexts = []string{"0xa9059cbb", "0xA9059CBB", "a9059cbb", "A9059CBB", "0x095ea7b3", "0x", "deadbeef", "FFFFFFFF", "23b872DD"}
)

// anAddress returns an address in any spelling that is one.
func anAddress(r *Rand) string {
	address := One(r, addresses)
	return r.Pick(address, address, strings.ToLower(address), "0x"+strings.ToUpper(address[2:]))
}

// AnyAddress returns an address by its checksum.
func AnyAddress(r *Rand) string { return One(r, addresses) }

// Transfer returns the body of a native transfer to an address, in normal spelling.
func Transfer(address string) *Node {
	body := object("")
	body.text("framework", "custom")
	body.text("agentId", "agent")
	body.set("txCommit", commitment)
	body.set("chainId", "1")
	body.text("intent.action", "wallet.transfer")
	body.text("intent.targetAddress", strings.ToLower(address))
	body.text("intent.amount", "0.5")
	return body
}

// WrapObjects returns a copy of a body in which some objects below metadata and arguments are an element of a list,
// alone or with others. changed reports whether any is.
func WrapObjects(r *Rand, body *Node) (wrapped *Node, changed bool) {
	wrapped = body.Clone()
	intent := wrapped.member("intent")
	for _, name := range []string{"metadata", "arguments"} {
		if n := intent.member(name); n != nil {
			for _, kid := range n.Kids {
				changed = wrapBelow(r, kid) || changed
			}
		}
	}
	return wrapped, changed
}

// readByName are the members of metadata that the product itself reads: a list there is another request.
var readByName = []string{"model_usage", "evm", "execution", "filesystem", "git", "database"}

func wrapBelow(r *Rand, n *Node) (changed bool) {
	if slices.Contains(readByName, n.Name) {
		return false
	}
	for _, kid := range n.Kids {
		changed = wrapBelow(r, kid) || changed
	}
	if n.Kids == nil || n.List || !r.Chance(60) {
		return changed
	}
	element := &Node{Kids: n.Kids}
	n.List, n.Kids = true, []*Node{element}
	if r.Chance(50) {
		n.Kids = []*Node{{Raw: r.Pick("1", `"x"`, "null", "{}", "[]")}, element}
	}
	return true
}

// addressPart returns a part of an address, mostly of its checksummed spelling.
func addressPart(r *Rand) string {
	address := anAddress(r)
	start := r.N(6)
	return r.Pick(address[:5+r.N(10)], address[2+start:10+start+r.N(12)], address[30:])
}

// customValue returns a value that the field might have, or a part of one.
func customValue(r *Rand, path string) string {
	switch strings.TrimPrefix(path, "intent.") {
	case "targetAddress":
		return r.Pick(anAddress(r), anAddress(r), addressPart(r))
	case "token":
		return r.Pick(anAddress(r), One(r, symbolTexts), One(r, symbolTexts), addressPart(r))
	case "to":
		return r.Pick(anAddress(r), addressPart(r), One(r, recipientTexts), One(r, recipientTexts))
	case "action":
		return r.Pick(One(r, evmActions), One(r, toolActions), strings.ToUpper(One(r, toolActions)), "mcp."+One(r, servers)+"."+One(r, mcpTools))
	case "chainId":
		return One(r, chains)
	case "url":
		return One(r, urlTexts)
	case "host":
		return One(r, hostTexts)
	case "query":
		return r.Pick("q=abc", "q=", "%20", anAddress(r))
	case "method":
		return One(r, methods)
	case "command":
		return r.Pick("ls", "rm -rf", "git", anAddress(r))
	case "path":
		return One(r, pathTexts)
	case "cwd":
		return r.Pick("/workspace/repo", "/workspace//repo/", `/work\x`, "/home/bob", "/etc")
	case "calldata":
		return r.Pick(One(r, calldataTexts), One(r, calldataTexts), anAddress(r)[2:])
	case "agentId", "framework", "context", "request_nonce", "task_id":
		return r.Pick("agent-1", "agent", "custom", "nonce", "task-1", "t", anAddress(r))
	case "amount":
		return One(r, amountTexts)
	case "maxFee":
		return r.Pick("0.01", "0.010", "0.05", "0", "00")
	case "amount_unit":
		return "base"
	case "metadata.serverId":
		return r.Pick("github", "GitHub", "files")
	case "metadata.toolName":
		tool := One(r, mcpTools)
		return r.Pick(tool, strings.ToUpper(tool))
	}
	return metadataValue(r)
}

// metadataValue returns a text that is its own form, mostly a word, and often one that holds an address.
func metadataValue(r *Rand) string {
	switch r.N(10) {
	case 0, 1:
		return anAddress(r)
	case 2:
		return "pay " + anAddress(r)
	case 3:
		return r.Pick(addressPart(r), One(r, recipientTexts), One(r, urlTexts), One(r, amountTexts))
	}
	return One(r, words)
}

// customPattern returns an expression about the field: one of a few that are no matter of spelling, or one that is
// made of values, so that their common beginnings, their case and their ends are in it.
func customPattern(r *Rand, path string) string {
	if r.Chance(40) {
		return One(r, patterns)
	}
	one, other := customValue(r, path), customValue(r, path)
	if r.Chance(30) { // two addresses begin with the same digits now and then
		one = strings.ToLower(anAddress(r))
		other = one[:4] + strings.ToLower(anAddress(r)[4:])
	}
	one, other = regexp.QuoteMeta(one), regexp.QuoteMeta(other)
	switch r.N(6) {
	case 0:
		return "^(?:" + one + "|" + other + ")$"
	case 1:
		return one + ".*"
	case 2:
		return "(?i)" + one + "|" + other
	case 3:
		return "(" + one + ")+"
	}
	return one + "|" + other
}

// goodText returns a text that an expression matches.
func goodText(r *Rand, pattern string) string {
	if good, known := goodTexts[pattern]; known {
		return good
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return pattern
	}
	return sample(r, parsed)
}

// sample returns a text that an expression of customPattern matches.
func sample(r *Rand, re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpAlternate:
		return sample(r, One(r, re.Sub))
	case syntax.OpCapture, syntax.OpPlus:
		return sample(r, re.Sub[0])
	case syntax.OpConcat:
		var b strings.Builder
		for _, part := range re.Sub {
			b.WriteString(sample(r, part))
		}
		return b.String()
	case syntax.OpCharClass:
		return string(re.Rune[:1])
	case syntax.OpQuest:
		return sample(r, re.Sub[0])
	}
	return ""
}

// ModelIntent returns the body of a model intent that reports a usage, which is raw JSON.
func ModelIntent(usage string) *Node {
	body := object("")
	body.text("framework", "custom")
	body.text("agentId", "agent")
	body.set("txCommit", commitment)
	body.text("intent.action", "model.inference")
	body.text("intent.task_id", "t")
	body.set("intent.metadata.model_usage", usage)
	return body
}
