package compiler

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"bailiff/fuzz/kit/seed"
	"bailiff/grammar"
	"bailiff/vm"
)

// draft is a policy before it is written down: entries by section, lists apart from their keys, so that it can be
// written in several ways that mean the same.
type draft struct {
	version  string
	sections []draftSection
}

type draftSection struct {
	name    string
	entries []draftEntry
}

type draftEntry struct {
	key    string   // with its colon
	items  []string // a list whose order means nothing, or one value
	places bool     // its place among its like has a meaning
}

func pick(r *rand.Rand, from ...string) string { return from[r.Intn(len(from))] }

// some returns at least one of them, in any order.
func some(r *rand.Rand, from ...string) []string {
	r.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
	return from[:1+r.Intn(len(from))]
}

// maybe adds an entry three times out of four.
func (s *draftSection) maybe(r *rand.Rand, key string, items ...string) {
	if r.Intn(4) > 0 {
		s.entries = append(s.entries, draftEntry{key: key, items: items})
	}
}

func (s *draftSection) always(key string, items ...string) {
	s.entries = append(s.entries, draftEntry{key: key, items: items})
}

const (
	usdcOnMain = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
	usdcOnBase = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	daiOnMain  = "0x6B175474E89094C44Da98b954EedeAC495271d0F"
)

func draftEVM(r *rand.Rand) draftSection {
	s := draftSection{name: "evm"}
	s.always("allowed_chains:", append(some(r, "8453", "137"), "1")...)
	s.always("allowed_actions:", append(some(r, "contract.call", "Swap", "token.approve"), "wallet.transfer")...)
	if r.Intn(3) == 0 {
		s.always("chain_actions:\n  8453:", some(r, "wallet.transfer", "Bridge")...)
	}
	s.maybe(r, "max_transaction_eth:", pick(r, "1", "1", "2", "0.5"))
	s.maybe(r, "consensus_threshold_eth:", pick(r, "1", "0.25", "0.3"))
	s.maybe(r, "consensus_require_hold:", pick(r, "true", "False"))
	if r.Intn(3) > 0 {
		s.always("token.USDC.decimals:", "6")
		s.always("token.USDC.max_transaction:", pick(r, "250", "0.000001", "1.5"))
		s.maybe(r, "token.USDC.addresses:", some(r, usdcOnMain, usdcOnBase)...)
	}
	if r.Intn(3) == 0 {
		s.always("token.Dai.max_transaction:", pick(r, "1", "2"))
		s.always("token.Dai.decimals:", "0")
		s.maybe(r, "token.Dai.addresses:", daiOnMain)
	}
	return s
}

func draftTools(r *rand.Rand) draftSection {
	s := draftSection{name: "tool_calls"}
	s.always("allowed:", some(r, "bash", "web_fetch", "file_write", "http", "Bash", "deploy")...)
	s.maybe(r, "bash.blocked_commands:", some(r, "rm -rf", "sudo", "\"curl  -d\"")...)
	s.maybe(r, "web_fetch.blocked_domains:", some(r, "evil.example", "*.bad.example", "127.0.0.1")...)
	s.maybe(r, "file_write.blocked_paths:", some(r, "/etc", "~/.ssh", ".env")...)
	s.maybe(r, "http.blocked_methods:", some(r, "DELETE", "PATCH")...)
	s.maybe(r, "http.allowed_methods:", append(some(r, "POST", "DELETE"), "GET")...)
	s.maybe(r, "http.allowed_hosts:", some(r, "good.example", "*.bad.example", "127.0.0.1", "evil.example")...)
	s.maybe(r, "email.blocked_recipients:", some(r, "eve@x.example", "*@*.x.example")...)
	s.maybe(r, "email.allowed_recipients:", some(r, "*@x.example", "*@y.example")...)
	s.maybe(r, "email.require_approval:", pick(r, "true", "false"))
	s.maybe(r, "require_approval:", some(r, "deploy", "ba*", "web_fetch")...)
	if r.Intn(8) == 0 {
		s.always("require_shim:", "true")
	}
	return s
}

func draftMCP(r *rand.Rand) draftSection {
	s := draftSection{name: "mcp"}
	s.always("blocked_tools:", some(r, "delete_*", "a.never", "*.admin")...)
	s.maybe(r, "allowed_servers:", some(r, "a", "B")...)
	s.maybe(r, "allowed_tools:", some(r, "a.*", "b", "*_all")...)
	s.maybe(r, "require_approval:", some(r, "b", "a.c*")...)
	return s
}

func draftSoft(r *rand.Rand) draftSection {
	s := draftSection{name: "soft_limits"}
	s.maybe(r, "daily_evm_limit_eth:", "5")
	s.maybe(r, "daily_tool_calls:", "50")
	s.always("cap.one.max_count:", "3")
	s.always("cap.one.window:", pick(r, "day", "hour", "task"))
	s.always("cap.one.action:", pick(r, "*", "deploy", "ba*", "Swap"))
	s.maybe(r, "cap.one.group_by:", pick(r, "metadata.env", "agentId"))
	if r.Intn(2) == 0 {
		s.always("cap.sum.max_sum_usd:", "3")
		s.always("cap.sum.amount_field:", "metadata.n")
		s.always("cap.sum.window:", pick(r, "day", "hour", "task"))
		s.always("cap.sum.action:", pick(r, "bash", "web_fetch"))
	}
	return s
}

func draftCustom(r *rand.Rand) draftSection {
	s := draftSection{name: "custom"}
	s.always("deny_string:", "never said")
	for range r.Intn(2) {
		s.entries = append(s.entries, draftDenial(r))
	}
	for range r.Intn(3) {
		scope := pick(r, "", "[action=bash]", "[action=w*]", "[action=Deploy]")
		path := pick(r, "metadata.env", "intent.metadata.n", "action", "metadata.a.b")
		words := pick(r, "", "", " contains", " starts_with", " ends_with")
		if strings.HasPrefix(path, "metadata") && r.Intn(4) == 0 {
			words = " attested" + words
		}
		key := "allow_only" + scope + "." + path + words + ":"
		if !slices.ContainsFunc(s.entries, func(e draftEntry) bool { return strings.Contains(e.key, path) && strings.HasPrefix(e.key, "allow") }) {
			s.entries = append(s.entries, draftEntry{key, some(r, "dev", "prod", "bash", "true", "1", "\"a, b\"", usdcOnMain), true})
		}
	}
	return s
}

func draftDenial(r *rand.Rand) draftEntry {
	if r.Intn(3) == 0 {
		return draftEntry{"deny_string:", []string{pick(r, "prod", "rm", "to "+usdcOnMain)}, true}
	}
	path := pick(r, "metadata.env", "metadata.n", "command", "action", "targetAddress", "chainId")
	operator := pick(r, "equals", "not_equals", "contains", "starts_with", "ends_with", "matches")
	return draftEntry{"deny_if." + path + " " + operator + ":", []string{pick(r, "prod", "dev", "1", "true", "ls", usdcOnBase, "bash")}, true}
}

func newDraft(r *rand.Rand) draft {
	d := draft{version: pick(r, "2.0.0", "2.1.0", "2.3.1")}
	if r.Intn(3) > 0 {
		d.sections = append(d.sections, draftEVM(r))
	}
	if r.Intn(3) > 0 {
		d.sections = append(d.sections, draftTools(r))
	}
	d.sections = append(d.sections, draftCustom(r))
	if r.Intn(2) == 0 {
		d.sections = append(d.sections, draftMCP(r))
	}
	if r.Intn(2) == 0 {
		d.sections = append(d.sections, draftSoft(r))
	}
	if r.Intn(2) == 0 {
		s := draftSection{name: "execution_limits"}
		s.maybe(r, "max_tool_calls_per_task:", "5")
		s.maybe(r, "max_tool_calls_per_hour:", "50")
		if r.Intn(3) == 0 {
			s.always(pick(r, "max_model_spend_usd_per_task:", "max_model_tokens_per_task:"), "5")
		}
		d.sections = append(d.sections, s)
	}
	return d
}

// write writes the draft down: plainly, or where noise is given with white space, comments, and lists and
// sections in another order.
func (d draft) write(noise *rand.Rand) string {
	var b strings.Builder
	b.WriteString("version: " + d.version + "\n")
	sections := slices.Clone(d.sections)
	if noise != nil {
		noise.Shuffle(len(sections), func(i, j int) { sections[i], sections[j] = sections[j], sections[i] })
	}
	for _, section := range sections {
		b.WriteString(blank(noise) + "## " + section.name + "\n")
		for _, entry := range section.entries {
			items := slices.Clone(entry.items)
			if noise != nil {
				noise.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
			}
			b.WriteString(blank(noise) + entry.key + " " + strings.Join(items, ", "+space(noise)) + space(noise) + "\n")
		}
	}
	return b.String()
}

func blank(noise *rand.Rand) string {
	if noise == nil {
		return ""
	}
	return pick(noise, "", "\n", "# a comment\n", "<!-- another,\n ## of two lines -->\n", " \t\n")
}

func space(noise *rand.Rand) string {
	if noise == nil {
		return ""
	}
	return pick(noise, "", " ", "\t ")
}

// newLine returns an intent in the form of the golden files.
func newLine(r *rand.Rand) string {
	members := []string{`"action":` + fmt.Sprintf("%q", pick(r, "bash", "Bash", "web_fetch", "http", "file_write", "deploy", "DEPLOY", "mcp.a.b", "MCP.A.read_all", "email.send",
		"model.inference", "wallet.transfer", "wallet.transfer", "contract.call", "contract.call", "Swap", "swap", "Bridge", "token.approve", "Wallet.Transfer"))}
	add := func(chance int, name string, values ...string) {
		if r.Intn(chance) == 0 {
			members = append(members, `"`+name+`":`+pick(r, values...))
		}
	}
	action := members[0]
	isWeb, isEVM := strings.Contains(action, "web") || strings.Contains(action, "http"), strings.ContainsAny(action, ".S") && !strings.Contains(action, "m")
	if isEVM || strings.Contains(action, "wallet") || strings.Contains(action, "contract") {
		add(1, "amount", `"0"`, `"0.3"`, `"0.3"`, `"1"`, `"0.5"`, `"1"`, `"0.25"`, `"0.500000000000000001"`, `"250"`, `"1.5"`, `"0.000001"`, `"x"`, `"2"`)
		add(8, "amount_unit", `"base"`)
		add(3, "token", `"usdc"`, `"DAI"`, `"WETH"`, `"`+usdcOnBase+`"`)
		add(2, "targetAddress", `"`+usdcOnMain+`"`, `"`+usdcOnBase+`"`, `"`+daiOnMain+`"`)
		add(3, "calldata", `"0xa9059cbb00"`, `"0x00"`, `"0xa9059cbb000000000000000000000000833589fcd6edb6e08f4c7c32d4f71b54bda029130000000000000000000000000000000000000000000000000000000000000002"`)
	}
	if isWeb {
		add(1, "url", `"https://evil.example/x"`, `"https://a.bad.example"`, `"http://127.1/"`, `"https://good.example"`)
	}
	if strings.Contains(action, `"http"`) {
		add(1, "method", `"GET"`, `"POST"`, `"DELETE"`)
	}
	add(2, "command", `"ls"`, `"rm  -rf x"`, `"'unclosed"`, `"echo prod"`, `"su''do ls"`)
	if !isWeb {
		add(2, "path", `"/etc/x"`, `"a/.env"`, `"$X"`, `"src/a"`)
	}
	if strings.Contains(action, "email") {
		add(1, "to", `"bob@x.example"`, `["Bob <bob@y.example>","eve@x.example"]`, `"nonsense"`, `"a@b.x.example"`)
	}
	add(2, "task_id", `"t"`)
	add(1, "metadata", `{"env":"prod"}`, `{"env":"dev","n":1}`, `{"env":["dev","prod"],"n":true}`, `{"env":null,"n":"1"}`, `{"env":{},"n":[]}`,
		`{"a":{"b":"`+strings.ToLower(usdcOnMain)+`"},"n":"a, b"}`, `{"a":{"b":"dev"},"env":"to `+strings.ToUpper(usdcOnMain[2:])+`"}`, `{"env":"bash","n":["true",{}]}`,
		`{"env":"e","n":"2.50","model_usage":{"estimated_spend_usd":"1","total_tokens":5}}`)
	return pick(r, "", "shim ") + pick(r, "", "1 ", "1 ", "1 ", "1 ", "8453 ", "10 ") + "{" + strings.Join(members, ",") + "}"
}

func compileText(text string) (*Compiled, grammar.Diagnostics) {
	return compileLinted(grammar.NewSource("property", []byte(text)))
}

// judge returns what a program says first.
func judge(t *testing.T, c *Compiled, line string) string {
	in, from, err := readIntent(line)
	if err != nil {
		return "400"
	}
	return firstRule(c.Program, bind(t, c.Program, in, from))
}

// TestProperties holds programs to what must not change a decision.
func TestProperties(t *testing.T) {
	properties := gopter.NewProperties(seed.Parameters(t, 400))
	properties.Property("compiling twice gives the same bytes", prop.ForAll(func(n int64) bool {
		text := newDraft(rand.New(rand.NewSource(n))).write(nil)
		first, _ := compileText(text)
		second, _ := compileText(text)
		a, errA := first.Program.MarshalBinary()
		b, errB := second.Program.MarshalBinary()
		return errA == nil && errB == nil && bytes.Equal(a, b)
	}, gen.Int64()))
	properties.Property("white space, comments and the order of lists and sections change no decision", prop.ForAll(func(n int64) string {
		r := rand.New(rand.NewSource(n))
		d := newDraft(r)
		plain, _ := compileText(d.write(nil))
		noisy, found := compileText(d.write(r))
		if noisy.Program == nil {
			return fmt.Sprint(found)
		}
		return sameDecisions(t, plain, noisy, r, func(before, after string) bool { return before == after })
	}, gen.Int64()))
	properties.Property("one more denial never lets through what was denied", prop.ForAll(func(n int64) string {
		r := rand.New(rand.NewSource(n))
		d := newDraft(r)
		before, _ := compileText(d.write(nil))
		for i := range d.sections {
			if d.sections[i].name == "custom" {
				at := r.Intn(len(d.sections[i].entries) + 1)
				d.sections[i].entries = slices.Insert(d.sections[i].entries, at, draftDenial(r))
			}
		}
		after, found := compileText(d.write(nil))
		if after.Program == nil {
			return fmt.Sprint(found)
		}
		return sameDecisions(t, before, after, r, func(before, after string) bool {
			return before == after || strings.HasPrefix(after, "denied custom.deny")
		})
	}, gen.Int64()))
	properties.TestingRun(t)
}

// sameDecisions compares what two programs say of some intents.
func sameDecisions(t *testing.T, before, after *Compiled, r *rand.Rand, same func(before, after string) bool) string {
	for range 10 {
		line := newLine(r)
		was := judge(t, before, line)
		is := judge(t, after, line)
		if !same(was, is) {
			return fmt.Sprintf("%s\n%s\n%s\nbefore: %s\nafter: %s", before.Source.Text, after.Source.Text, line, was, is)
		}
	}
	return ""
}

// TestBothModesAgree makes sure that mode all denies exactly what mode first denies, by the same rule first.
func TestBothModesAgree(t *testing.T) {
	r := rand.New(rand.NewSource(seed.Value(t)))
	statuses := map[vm.Status]int{}
	for range 300 {
		compiled, _ := compileText(newDraft(r).write(nil))
		for range 20 {
			line := newLine(r)
			in, from, err := readIntent(line)
			if err != nil {
				continue
			}
			frame := bind(t, compiled.Program, in, from)
			var one, other vm.Machine
			first, all := one.Run(compiled.Program, frame, vm.First), other.Run(compiled.Program, frame, vm.All)
			statuses[first.Status]++
			if first.Status != all.Status || len(first.Violations) > 0 && first.Violations[0] != all.Violations[0] {
				t.Fatalf("%s\n%s\nfirst: %s\nall: %s", compiled.Source.Text, line, show(compiled.Program, first), show(compiled.Program, all))
			}
		}
	}
	for status := vm.Denied; status <= vm.Allowed; status++ {
		if statuses[status] < 10 {
			t.Errorf("the generators give too few results that are %s: %v", status, statuses)
		}
	}
	t.Log(statuses)
}

// examplePolicy is the policy that the product ships as its example.
const examplePolicy = "../cmd/bailiff/policy/example/warranty.md"

func readExample(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile(examplePolicy)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestExample makes sure that the example is spotless and does what its comments say.
func TestExample(t *testing.T) {
	src := grammar.NewSource("warranty.md", readExample(t))
	compiled, found := compileLinted(src)
	for _, d := range found {
		t.Error(src.Render(d))
	}
	if compiled.Version != "2.4.0" || compiled.Signature != nil || compiled.Hash != grammar.PolicyHash(src.Text) {
		t.Errorf("version %q, signature %x, hash %s", compiled.Version, compiled.Signature, compiled.Hash)
	}
	signed, err := grammar.Join(src.Text, make([]byte, 64))
	if err != nil {
		t.Fatal(err)
	}
	if s, _ := compileText(string(signed)); s.Hash != compiled.Hash || len(s.Signature) != 64 || s.Program == nil || s.Program.Hash() != compiled.Program.Hash() {
		t.Errorf("signed, the example has hash %s and signature %x", s.Hash, s.Signature)
	}
	for line, want := range map[string]string{
		`1 {"action":"wallet.transfer","maxFee":"0.001","amount":"0.2","metadata":{"desk":"desk-1"}}`:                                                        "allowed",
		`8453 {"action":"wallet.transfer","maxFee":"0.001","amount":"0.25","metadata":{"desk":"desk-2"}}`:                                                    "pending evm.consensus_threshold_eth",
		`1 {"action":"wallet.transfer","maxFee":"0.001","amount":"0.6","metadata":{"desk":"desk-1"}}`:                                                        "denied evm.max_transaction_eth AMOUNT_EXCEEDED",
		`10 {"action":"contract.call","maxFee":"0.001"}`:                                                                                                     "denied evm.allowed_chains CHAIN_NOT_ALLOWED",
		`1 {"action":"wallet.transfer","maxFee":"0.001","amount":"0.2","metadata":{"desk":"desk-9"}}`:                                                        "denied custom.allow_only.metadata.desk NOT_ON_ALLOWLIST",
		`8453 {"action":"wallet.transfer","maxFee":"0.001","token":"USDC","targetAddress":"` + usdcOnBase + `","amount":"250","metadata":{"desk":"desk-1"}}`: "allowed",
		`8453 {"action":"wallet.transfer","maxFee":"0.001","token":"USDC","targetAddress":"` + daiOnMain + `","amount":"1","metadata":{"desk":"desk-1"}}`:    "denied evm.token.USDC.addresses TOKEN_NOT_ALLOWED",
		`{"action":"bash","command":"ls -l","task_id":"t"}`:                                                                                                  "allowed",
		`{"action":"bash","command":"sudo ls","task_id":"t"}`:                                                                                                "denied tool_calls.bash.blocked_commands BLOCKED_COMMAND",
		`{"action":"bash","command":"ls -l"}`:                                                                                                                "denied execution_limits.max_tool_calls_per_task TASK_ID_REQUIRED",
		`{"action":"web_fetch","url":"http://169.254.169.254/","task_id":"t"}`:                                                                               "denied tool_calls.web_fetch.blocked_domains BLOCKED_DOMAIN",
		`{"action":"file_write","path":"~/.ssh/config","task_id":"t"}`:                                                                                       "denied tool_calls.file_write.blocked_paths BLOCKED_PATH",
		`{"action":"file_write","path":"notes.md","task_id":"t","metadata":{"environment":"production"}}`:                                                    "denied custom.deny_if.metadata.environment CUSTOM_RULE",
		`{"action":"bash","command":"echo -----BEGIN OPENSSH PRIVATE KEY-----","task_id":"t"}`:                                                               "denied custom.deny_string CUSTOM_RULE",
		`{"action":"email.send","to":"a@example.com","task_id":"t"}`:                                                                                         "denied tool_calls.allowed TOOL_CALL_NOT_ALLOWED",
	} {
		if got := judge(t, compiled, line); got != want {
			t.Errorf("%s:\n%s, want %s", line, got, want)
		}
	}
}
