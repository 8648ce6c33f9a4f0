package compiler

import (
	"fmt"
	"slices"
	"strings"

	"bailiff/grammar"
	"bailiff/runtime/code"
)

// Type is the type of a key's value.
type Type string

// The types of values. Documents show them as they are.
const (
	TypeDecimal   Type = "decimal"
	TypeInteger   Type = "integer"
	TypeBoolean   Type = "boolean"
	TypeText      Type = "text"
	TypeCondition Type = "operator and text"
	TypeActions   Type = "list of actions"
	TypeChains    Type = "list of chain ids"
	TypeChainMap  Type = "block of chain ids with lists of actions"
	TypeAddresses Type = "list of addresses"
	TypeTexts     Type = "list of texts"
	TypeHosts     Type = "list of hosts"
	TypePaths     Type = "list of paths"
)

// FormatVersion is a version of the policy format, without the patch level.
type FormatVersion struct{ Major, Minor int }

// String returns the version as "2.1".
func (v FormatVersion) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

var (
	v10 = FormatVersion{1, 0}
	v20 = FormatVersion{2, 0}
	v21 = FormatVersion{2, 1}
)

// Section is one row of the table of sections.
type Section struct {
	Name      string
	Since     FormatVersion
	Supported bool // false: an error says that this version of bailiff does not enforce it yet
	Doc       string
}

// Key is one row of the table of keys. It drives checking, completion and the reference.
type Key struct {
	Section string

	// Name is the key as it is written, with a placeholder for each part that the policy's author chooses:
	// "token.<SYM>.decimals", "allow_only[action=<pattern>].<path>". <path> stands for one or more names.
	Name string

	Type      Type
	Since     FormatVersion
	Supported bool // false: an error says that this version of bailiff does not enforce it yet

	// Modifies marks a form of the key that is in another row: its scope, or a word after its name.
	Modifies bool

	// Rule is the matched_rule of a denial by this key, and Code its error code. They are empty for keys that
	// only say more about another.
	Rule string
	Code code.Code

	Doc     string // one sentence for the reference
	Example string // one line, or the lines of a block
}

// Sections returns the table of sections, in the order in which the reference has them.
func Sections() []Section { return slices.Clone(sections) }

// Schema returns the table of keys, by section and in the order in which the reference has them.
func Schema() []Key { return slices.Clone(schema) }

var sections = []Section{
	{Name: "evm", Since: v10, Supported: true, Doc: "EVM transactions: chains, actions, native and token amounts."},
	{Name: "tool_calls", Since: v10, Supported: true, Doc: "Tools: which are allowed, and what they may not touch."},
	{Name: "custom", Since: v10, Supported: true, Doc: "Rules about any field of a request."},
	{Name: "mcp", Since: v20, Doc: "MCP servers and tools."},
	{Name: "soft_limits", Since: v10, Doc: "Caps by day, hour or task."},
	{Name: "execution_limits", Since: v10, Supported: true, Doc: "Ceilings on tool calls and model use."},
	{Name: "repository", Since: v21, Doc: "A resource profile: the repository that tools work in."},
	{Name: "filesystem", Since: v21, Doc: "A resource profile: effects on files."},
	{Name: "git", Since: v21, Doc: "A resource profile: operations on git."},
	{Name: "database", Since: v21, Doc: "A resource profile: operations on databases."},
}

// schema is the one table of keys.
var schema = []Key{
	{Section: "evm", Name: "allowed_chains", Type: TypeChains, Since: v10, Supported: true,
		Rule: "evm.allowed_chains", Code: code.ChainNotAllowed,
		Doc:     "The chains that an intent may name; a `chainId` that is present must be one of them, whatever the kind of intent.",
		Example: "allowed_chains: 1, 8453"},
	{Section: "evm", Name: "allowed_actions", Type: TypeActions, Since: v10, Supported: true,
		Rule: "evm.allowed_actions", Code: code.ActionNotAllowed,
		Doc:     "The EVM actions that are granted on every allowed chain that `chain_actions` does not name; exact.",
		Example: "allowed_actions: wallet.transfer, contract.call"},
	{Section: "evm", Name: "chain_actions", Type: TypeChainMap, Since: v10, Supported: true,
		Rule: "evm.chain_actions", Code: code.ActionNotAllowed,
		Doc:     "The EVM actions that are granted on one chain, in place of `allowed_actions`.",
		Example: "chain_actions:\n  \"8453\": wallet.transfer"},
	{Section: "evm", Name: "max_transaction_eth", Type: TypeDecimal, Since: v10, Supported: true,
		Rule: "evm.max_transaction_eth", Code: code.AmountExceeded,
		Doc:     "The largest native amount of one intent, in ETH; without it every native amount above zero is denied.",
		Example: "max_transaction_eth: 0.5"},
	{Section: "evm", Name: "consensus_threshold_eth", Type: TypeDecimal, Since: v10, Supported: true,
		Rule: "evm.consensus_threshold_eth", Code: code.HoldConsensus,
		Doc:     "The native amount, in ETH, from which on a person has to decide.",
		Example: "consensus_threshold_eth: 0.25"},
	{Section: "evm", Name: "consensus_require_hold", Type: TypeBoolean, Since: v10, Supported: true,
		Doc:     "Whether reaching the threshold holds the intent (`true`) or is only noted in the answer (`false`).",
		Example: "consensus_require_hold: true"},
	{Section: "evm", Name: "token.<SYM>.decimals", Type: TypeInteger, Since: v10, Supported: true,
		Doc:     "The token's decimals, 0 to 36; required in a token rule.",
		Example: "token.USDC.decimals: 6"},
	{Section: "evm", Name: "token.<SYM>.max_transaction", Type: TypeDecimal, Since: v10, Supported: true,
		Rule: "evm.token.<SYM>.max_transaction", Code: code.TokenAmountExceeded,
		Doc:     "The largest amount of the token in one intent, in the token's own unit; required in a token rule.",
		Example: "token.USDC.max_transaction: 250"},
	{Section: "evm", Name: "token.<SYM>.addresses", Type: TypeAddresses, Since: v10, Supported: true,
		Rule: "evm.token.<SYM>.addresses", Code: code.TokenNotAllowed,
		Doc:     "The token's contracts: an intent for the token must have one of them as its `targetAddress`, and one for a token without addresses must not. Lines add up.",
		Example: "token.USDC.addresses: 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"},
	{Section: "evm", Name: "token.<SYM>.consensus_threshold", Type: TypeDecimal, Since: v10,
		Rule: "evm.token.<SYM>.consensus_threshold", Code: code.HoldConsensus,
		Doc:     "The amount of the token from which on a person has to decide.",
		Example: "token.USDC.consensus_threshold: 100"},
	{Section: "evm", Name: "require_calldata_enrichment", Type: TypeBoolean, Since: v21,
		Doc:     "Whether a `contract.call` needs a trusted shim's account of its call data.",
		Example: "require_calldata_enrichment: true"},
	{Section: "evm", Name: "calldata_unknown_selector", Type: TypeText, Since: v21,
		Doc:     "Whether a call of an unknown method is allowed (`allow`, `deny`).",
		Example: "calldata_unknown_selector: deny"},

	{Section: "tool_calls", Name: "allowed", Type: TypeActions, Since: v10, Supported: true,
		Rule: "tool_calls.allowed", Code: code.ToolCallNotAllowed,
		Doc:     "The tools that are granted; exact.",
		Example: "allowed: bash, web_fetch, file_write"},
	{Section: "tool_calls", Name: "bash.blocked_commands", Type: TypeTexts, Since: v10, Supported: true,
		Rule: "tool_calls.bash.blocked_commands", Code: code.BlockedCommand,
		Doc:     "Texts that must not stand in a `bash` command, however it is quoted or spaced.",
		Example: "bash.blocked_commands: rm -rf, curl"},
	{Section: "tool_calls", Name: "web_fetch.blocked_domains", Type: TypeHosts, Since: v10, Supported: true,
		Rule: "tool_calls.web_fetch.blocked_domains", Code: code.BlockedDomain,
		Doc:     "Hosts that `web_fetch` and `http` must not reach, with their subdomains.",
		Example: "web_fetch.blocked_domains: pastebin.com, 169.254.169.254"},
	{Section: "tool_calls", Name: "file_write.blocked_paths", Type: TypePaths, Since: v10, Supported: true,
		Rule: "tool_calls.file_write.blocked_paths", Code: code.BlockedPath,
		Doc:     "Paths that `file_write` must not touch, with what lies below them.",
		Example: "file_write.blocked_paths: /etc, ~/.ssh, .env"},
	{Section: "tool_calls", Name: "email.require_approval", Type: TypeBoolean, Since: v10,
		Rule: "tool_calls.email.require_approval",
		Doc:  "Whether a person has to decide on every `email.send`.", Example: "email.require_approval: true"},
	{Section: "tool_calls", Name: "email.allowed_recipients", Type: TypeTexts, Since: v10,
		Rule: "tool_calls.email.allowed_recipients",
		Doc:  "The recipients that `email.send` may have.", Example: "email.allowed_recipients: '*@example.com'"},
	{Section: "tool_calls", Name: "email.blocked_recipients", Type: TypeTexts, Since: v10,
		Rule: "tool_calls.email.blocked_recipients",
		Doc:  "The recipients that `email.send` must not have.", Example: "email.blocked_recipients: '*@example.net'"},
	{Section: "tool_calls", Name: "http.allowed_methods", Type: TypeTexts, Since: v20,
		Rule: "tool_calls.http.allowed_methods",
		Doc:  "The methods that `http` may use.", Example: "http.allowed_methods: GET, HEAD"},
	{Section: "tool_calls", Name: "http.blocked_methods", Type: TypeTexts, Since: v20,
		Rule: "tool_calls.http.blocked_methods",
		Doc:  "The methods that `http` must not use.", Example: "http.blocked_methods: DELETE"},
	{Section: "tool_calls", Name: "http.allowed_hosts", Type: TypeHosts, Since: v20,
		Rule: "tool_calls.http.allowed_hosts",
		Doc:  "The hosts that `http` and `web_fetch` may reach.", Example: "http.allowed_hosts: api.example.com"},
	{Section: "tool_calls", Name: "http.method_rules.<METHOD>.require_query_matches", Type: TypeText, Since: v21,
		Rule: "tool_calls.http.method_rules.<METHOD>.require_query_matches",
		Doc:  "A pattern that the whole query has to match.", Example: "http.method_rules.GET.require_query_matches: \"q=[a-z]+\""},
	{Section: "tool_calls", Name: "http.method_rules.<METHOD>.deny", Type: TypeBoolean, Since: v21,
		Rule: "tool_calls.http.method_rules.<METHOD>.deny",
		Doc:  "Whether the method is denied.", Example: "http.method_rules.DELETE.deny: true"},

	{Section: "custom", Name: "deny_if.<path> <operator>", Type: TypeCondition, Since: v10, Supported: true,
		Rule: "custom.deny_if.<path>", Code: code.CustomRule,
		Doc:     "Denies where the value compares so: equals, not_equals, contains, starts_with, ends_with or matches.",
		Example: "deny_if.metadata.environment equals production"},
	{Section: "custom", Name: "deny_string", Type: TypeText, Since: v10, Supported: true,
		Rule: "custom.deny_string", Code: code.CustomRule,
		Doc:     "Denies where any text of the request holds this one.",
		Example: "deny_string: BEGIN OPENSSH PRIVATE KEY"},
	{Section: "custom", Name: "allow_only.<path>", Type: TypeTexts, Since: v10, Supported: true,
		Rule: "custom.allow_only.<path>", Code: code.NotOnAllowlist,
		Doc:     "Denies where the value is missing or not one of these. Lines for the same path and scope add up.",
		Example: "allow_only.metadata.team: research, trading"},
	{Section: "custom", Name: "allow_only[action=<pattern>].<path>", Type: TypeTexts, Since: v20, Supported: true, Modifies: true,
		Rule: "custom.allow_only.<path>", Code: code.NotOnAllowlist,
		Doc:     "The same for some actions only: an action, or the beginning of actions and `*`, without regard to case.",
		Example: "allow_only[action=wallet.transfer].metadata.desk: desk-1, desk-2"},
	{Section: "custom", Name: "allow_only.<path> attested", Type: TypeTexts, Since: v20, Supported: true, Modifies: true,
		Rule: "custom.allow_only.<path>", Code: code.ProvenanceRequired,
		Doc:     "The value counts only from a key whose provenance is a shim.",
		Example: "allow_only.metadata.branch attested: main"},
	{Section: "custom", Name: "allow_only.<path> <operator>", Type: TypeTexts, Since: v20, Supported: true, Modifies: true,
		Rule: "custom.allow_only.<path>", Code: code.NotOnAllowlist,
		Doc:     "Compares by equals, contains, starts_with (or prefix), ends_with, or matches (the whole value).",
		Example: "allow_only.metadata.ticket matches: \"OPS-[0-9]{1,6}\""},

	{Section: "execution_limits", Name: "max_tool_calls_per_task", Type: TypeInteger, Since: v10, Supported: true,
		Rule: "execution_limits.max_tool_calls_per_task", Code: code.LoopLimitExceeded,
		Doc:     "How many tool and MCP calls one `task_id` may make; an intent without one is denied.",
		Example: "max_tool_calls_per_task: 200"},
	{Section: "execution_limits", Name: "max_tool_calls_per_hour", Type: TypeInteger, Since: v10, Supported: true,
		Rule: "execution_limits.max_tool_calls_per_hour", Code: code.LoopLimitExceeded,
		Doc:     "How many tool and MCP calls the key may make in one hour (UTC).",
		Example: "max_tool_calls_per_hour: 1000"},
	{Section: "execution_limits", Name: "max_model_spend_usd_per_task", Type: TypeDecimal, Since: v10,
		Rule: "execution_limits.max_model_spend_usd_per_task",
		Doc:  "How much one task may spend on models, in USD.", Example: "max_model_spend_usd_per_task: 2.50"},
	{Section: "execution_limits", Name: "max_model_tokens_per_task", Type: TypeInteger, Since: v10,
		Rule: "execution_limits.max_model_tokens_per_task",
		Doc:  "How many model tokens one task may use.", Example: "max_model_tokens_per_task: 100000"},

	{Section: anySection, Name: "require_approval", Type: TypeActions, Since: v20,
		Doc: "The actions on which a person has to decide.", Example: "require_approval: contract.call"},
	{Section: anySection, Name: "require_shim", Type: TypeBoolean, Since: v20,
		Doc: "Whether the section's intents need a key whose provenance is a shim.", Example: "require_shim: true"},
}

// anySection marks a key that every section has.
const anySection = "*"

// rowsFor returns the rows that an entry of a section falls under: the key itself, and the modifiers that it has.
// Without any the key is unknown.
func rowsFor(section string, key *grammar.Key) []*Key {
	var rows []*Key
	for i := range schema {
		row := &schema[i]
		if (row.Section == section || row.Section == anySection) && row.appliesTo(key) {
			rows = append(rows, row)
		}
	}
	return rows
}

// appliesTo reports whether key is of the row's form or, for a modifier, has it.
func (k *Key) appliesTo(key *grammar.Key) bool {
	if !matchNames(k.names(), key) {
		return false
	}
	hasAttested := slices.ContainsFunc(key.Words, func(w grammar.Word) bool { return w.Text == wordAttested })
	switch {
	case !k.Modifies:
		return true
	case strings.Contains(k.Name, "["):
		return key.Scope != nil
	case strings.HasSuffix(k.Name, " "+wordAttested):
		return hasAttested
	}
	return len(key.Words) > 1 || len(key.Words) == 1 && !hasAttested
}

// wordAttested is the one word of a key that is no operator.
const wordAttested = "attested"

// names returns the dotted names of the row, without scope and words.
func (k *Key) names() []string {
	name, _, _ := strings.Cut(k.Name, " ")
	return strings.Split(strings.Replace(name, "[action=<pattern>]", "", 1), ".")
}

// takesScope and takesWords say what may stand in the key besides names.
func (k *Key) takesScope() bool { return k.names()[0] == nameAllowOnly }
func (k *Key) takesWords() bool { return k.takesScope() || strings.Contains(k.Name, " ") }

const nameAllowOnly = "allow_only"

// matchNames reports whether a key has these names, of which <path> stands for all that follow.
func matchNames(names []string, key *grammar.Key) bool {
	segments := keySegments(key)
	for i, name := range names {
		switch {
		case i >= len(segments):
			return false
		case name == "<path>":
			return true
		case !isPlaceholder(name) && name != segments[i].Text:
			return false
		}
	}
	return len(segments) == len(names)
}

func isPlaceholder(name string) bool { return strings.HasPrefix(name, "<") }

// keySegments returns all names of a key, before and after its scope.
func keySegments(key *grammar.Key) []grammar.Segment {
	return append(slices.Clone(key.Segments), key.Path...)
}

// closestKey returns the key of the section that an unknown key was probably meant to be: one that is spelled nearly so,
// or the only one that it is the beginning of; else "".
func closestKey(section string, key *grammar.Key) string {
	var candidates []string
	segments := keySegments(key)
	for i := range schema {
		if row := &schema[i]; row.Section == section && !row.Modifies {
			candidates = append(candidates, row.spelledLike(segments))
		}
	}
	written := joinSegments(segments)
	if near := grammar.Closest(written, candidates); near != "" {
		return near
	}
	return onlyContinuation(written, candidates)
}

// onlyContinuation returns the one candidate, without placeholders, that goes on where start ends, or "".
func onlyContinuation(start string, candidates []string) string {
	const least = 3 // fewer letters are the beginning of anything
	only := ""
	for _, candidate := range candidates {
		if len(start) < least || !strings.HasPrefix(candidate, start) || strings.Contains(candidate, "<") {
			continue
		}
		if only != "" {
			return ""
		}
		only = candidate
	}
	return only
}

// spelledLike returns the row's names with the parts of a key in place of its placeholders.
func (k *Key) spelledLike(segments []grammar.Segment) string {
	var names []string
	for i, name := range k.names() {
		switch {
		case name == "<path>" && i < len(segments):
			names = append(names, joinSegments(segments[i:]))
		case isPlaceholder(name) && i < len(segments):
			names = append(names, segments[i].Text)
		default:
			names = append(names, name)
		}
	}
	return strings.Join(names, ".")
}

func joinSegments(segments []grammar.Segment) string {
	texts := make([]string, len(segments))
	for i, s := range segments {
		texts[i] = s.Text
	}
	return strings.Join(texts, ".")
}

// sectionsWith returns the supported sections that have a key of exactly that name.
func sectionsWith(key *grammar.Key) []string {
	var names []string
	for i := range schema {
		if row := &schema[i]; row.Section != anySection && row.Name == key.Name() {
			names = append(names, row.Section)
		}
	}
	return names
}

// mustFind returns the row of a key by section and name. It is for the variables of the emitter, which name rows of
// the table: a name that is not in it is a defect that shows when the program starts.
func mustFind(section, name string) *Key {
	for i := range schema {
		if schema[i].Section == section && schema[i].Name == name {
			return &schema[i]
		}
	}
	panic("compiler: the schema has no key " + name + " in section " + section)
}

// ruleOf returns the key's matched_rule with what stands for its placeholder.
func (k *Key) ruleOf(part string) string {
	before, rest, found := strings.Cut(k.Rule, "<")
	if !found {
		return k.Rule
	}
	_, after, _ := strings.Cut(rest, ">")
	return before + part + after
}
