package compiler

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/compiler/profiles"
	"bailiff/compiler/sections"
	"bailiff/grammar"
	"bailiff/runtime/intent"
	"bailiff/vm/errcode"
	"bailiff/vm/slot"
	"bailiff/vm/slot/derived"
)

// hosts are policies in which the example of a key can be, by section, where that needs more than to be there. What the key itself needs
// beside it is in companions. A line of either whose key the example has is left out.
var hosts = map[string]string{
	"evm":        "## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer\n",
	"tool_calls": "## tool_calls\nallowed: bash\n",
	"custom":     "## custom\ndeny_string: x\n",
	"mcp":        "## mcp\nallowed_servers: files\n",
	"repository": "## repository\nroots: .\nrequire_shim: true\n",
	"filesystem": "## filesystem\nactions: file.*\nallowed_effects: read\nrequire_shim: true\n",
	"git":        "## git\nactions: git.*\nallowed_operations: status, commit, push_fast_forward\nrequire_shim: true\n",
	"database":   "## database\nactions: sql.*\nallowed_operations: select, update, execute_routine\nrequire_shim: true\n",
}

// companions are lines that the examples of keys need, by how section and key begin. A section of its own is in
// front.
var companions = map[string]string{
	"evm.token.":                         "token.USDC.decimals: 6\ntoken.USDC.max_transaction: 1\n",
	"evm.calldata_unknown_selector":      "require_calldata_enrichment: true\n",
	"custom.response.deny_string":        "## mcp\nallowed_tools: api.call\nresponse.http_tools: api.call\nresponse.deterministic_ruleset: sof-response-rules-v1\n",
	"soft_limits.cap.deploys.":           "cap.deploys.max_count: 3\ncap.deploys.action: deploy\ncap.deploys.window: day\n",
	"soft_limits.cap.refunds.":           "cap.refunds.max_sum_usd: 3\ncap.refunds.amount_field: metadata.usd\ncap.refunds.action: deploy\ncap.refunds.window: day\n",
	"soft_limits.daily_token.":           "## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer\ntoken.USDC.decimals: 6\ntoken.USDC.max_transaction: 1\n",
	"mcp.response.web_fetch_tools":       "allowed_tools: browser.fetch\nresponse.deterministic_ruleset: sof-response-rules-v1\n",
	"mcp.response.http_tools":            "allowed_tools: api.call\nresponse.deterministic_ruleset: sof-response-rules-v1\n",
	"filesystem.protected_class_catalog": "protected_file_classes: secret\n",
	"filesystem.protected_effects":       "protected_file_classes: secret\n",
}

// exampleText returns a policy of a version with the example of a row in it.
func exampleText(row *frame.Key, version frame.FormatVersion) string {
	lines := cmp.Or(hosts[row.Section], "## tool_calls\nallowed: bash\n## "+row.Section+"\n")
	key, _, _ := strings.Cut(row.Example, ":")
	for name, more := range companions {
		switch {
		case !strings.HasPrefix(row.Section+"."+key, name):
		case strings.HasPrefix(more, "## "):
			lines = more + lines
		default:
			lines += more
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "version: %s.0\n", version)
	for line := range strings.Lines(lines) {
		if !strings.HasPrefix(line, key+":") {
			b.WriteString(line)
		}
	}
	return b.String() + row.Example + "\n"
}

// TestSchemaRows compiles the example of every row: it compiles from the version on that has it and not before. Reserved
// keys never do.
func TestSchemaRows(t *testing.T) {
	for _, row := range Schema() {
		t.Run(row.Section+"."+row.Name, func(t *testing.T) {
			if row.Doc == "" || !strings.HasSuffix(row.Doc, ".") || row.Example == "" {
				t.Error("it has no sentence or no example")
			}
			if row.Rule != "" && row.Code == "" {
				t.Error("it denies, and has no error code")
			}
			for _, c := range row.AllCodes() {
				if errcode.Lookup(c).Code != c {
					t.Errorf("%s is not in the table of codes", c)
				}
			}
			checkExample(t, &row)
		})
	}
}

// before are the versions that do not have yet what the next one has.
var before = map[frame.FormatVersion]frame.FormatVersion{frame.V20: {Major: 1, Minor: 9}, frame.V21: frame.V20, frame.V22: frame.V21, frame.V23: frame.V22, frame.V24: frame.V23}

func checkExample(t *testing.T, row *frame.Key) {
	found := errorsOf(exampleText(row, row.Since))
	if row.Reserved {
		if !slices.Equal(found, []grammar.Code{codes.KeyUnsupported}) {
			t.Errorf("it is reserved, and that is not said: %v", found)
		}
		return
	}
	if len(found) > 0 {
		t.Errorf("its example has errors: %v\n%s", found, exampleText(row, row.Since))
	}
	if version, ok := before[row.Since]; ok {
		found := errorsOf(exampleText(row, version))
		if !slices.Contains(found, codes.KeyVersion) && !slices.Contains(found, codes.SectionVersion) {
			t.Errorf("version %s does not have it, and that is not said: %v", version, found)
		}
	}
}

// errorsOf returns the codes of the errors of a policy.
func errorsOf(text string) []grammar.Code {
	_, found := compileText(text)
	var these []grammar.Code
	for _, d := range found {
		if d.Severity == grammar.Error {
			these = append(these, d.Code)
		}
	}
	return these
}

// TestSections holds the table of sections to the grammar's, and every section to a row of keys.
func TestSections(t *testing.T) {
	var names []string
	for _, section := range Sections() {
		names = append(names, section.Name)
		hasKeys := slices.ContainsFunc(schema, func(k *frame.Key) bool { return k.Section == section.Name })
		if !hasKeys {
			t.Errorf("section %s has no keys", section.Name)
		}
	}
	want := slices.DeleteFunc(grammar.SectionNames(), func(name string) bool { return name == "signature" })
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("the schema has the sections %v, the grammar %v", names, want)
	}
}

// TestFields holds what the compiler knows of requests to the decoder of requests.
func TestFields(t *testing.T) {
	for _, row := range slot.Fields() {
		if row.Field == slot.ChainID && row.Bound != "one of "+strings.Join(slot.ChainIDs(), ", ") {
			t.Errorf("the compiler knows the chains %v, the decoder takes %s", slot.ChainIDs(), row.Bound)
		}
	}
	slots := []string{frame.SlotAction, frame.SlotChainID, frame.SlotTarget, frame.SlotToken, derived.Amount, frame.SlotAmountUnit, frame.SlotCalldata, frame.SlotTaskID, derived.Action, derived.Token,
		derived.Provenance, derived.Command, derived.Host, derived.Path, derived.Text, derived.CalldataAmount, frame.SlotMethod, derived.Query, derived.Recipients, derived.Server, derived.Tool, derived.MCP,
		derived.Spend, derived.Tokens, derived.Call, derived.CallToken, derived.CallAmount}
	if _, err := intent.NewBinding(slots, nil); err != nil {
		t.Error(err)
	}
}

// TestCounterNames holds the counters of budgets to the names under which logs keep usage.
func TestCounterNames(t *testing.T) {
	if sections.KeySpend.Rule != "execution_limits.max_model_spend_usd_per_task" || sections.KeyTokens.Rule != "execution_limits.max_model_tokens_per_task" {
		t.Errorf("the counters are %s and %s", sections.KeySpend.Rule, sections.KeyTokens.Rule)
	}
}

// unwritten are the rules that no key of the schema has, with their codes.
var unwritten = map[string]errcode.Code{
	frame.RuleNoToken: errcode.TokenNotAllowed, frame.RuleUnbounded: errcode.TokenAmountExceeded, profiles.RuleBoundary: errcode.ExecutionBoundary,
}

// TestRulesAreInTheSchema holds what the programs of the golden files can answer to what the schema says that keys
// answer: neither has a rule or a code that the other lacks.
func TestRulesAreInTheSchema(t *testing.T) {
	type answer struct {
		rule string
		code errcode.Code
	}
	programs, _ := goldenRuns(t)
	said := map[answer]bool{}
	for _, program := range programs {
		for i := range program.Rules() {
			rule := program.Rule(uint16(i))
			if errcode.Code(rule.Code) != errcode.ValidationSchema && unwritten[rule.Name] != errcode.Code(rule.Code) {
				said[answer{rule.Name, errcode.Code(rule.Code)}] = true
			}
		}
	}
	placeholder := regexp.MustCompile(`<[^>]+>`)
	for _, row := range Schema() {
		pattern := regexp.MustCompile("^" + placeholder.ReplaceAllString(strings.ReplaceAll(row.Rule, ".", `\.`), ".+") + "$")
		for _, c := range row.AllCodes() {
			found := false
			for one := range said {
				if one.code == c && pattern.MatchString(one.rule) {
					found = true
				}
			}
			if !found {
				t.Errorf("no golden program answers %s with %s", row.Rule, c)
			}
		}
	}
	for one := range said {
		if !slices.ContainsFunc(schema, func(row *frame.Key) bool {
			pattern := placeholder.ReplaceAllString(strings.ReplaceAll(row.Rule, ".", `\.`), ".+")
			return row.Rule != "" && slices.Contains(row.AllCodes(), one.code) && regexp.MustCompile("^"+pattern+"$").MatchString(one.rule)
		}) {
			t.Errorf("the schema does not say that %s answers %s", one.rule, one.code)
		}
	}
}
