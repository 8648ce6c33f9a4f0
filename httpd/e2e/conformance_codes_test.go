package e2e

import (
	"fmt"
	"strings"
	"testing"

	"bailiff/vm/errcode"
)

// A world is a policy and what it makes of intents, one a line: `[shim] [chain] {…} => CODE`, where shim is a key whose
// provenance is a shim's. A line without a code has to be allowed, so that the next one meets a limit. Codes are
// without SVC_, and without SVC_POLICY_VIOLATION_ where they have that.
type world struct{ name, policy, intents string }

// blob is the evidence of one file, of which a path, its folder and its class are to be filled in.
const blob = `"execution":{"race_safe_path_resolution":true},"filesystem":{"effects":[%q],"targets":[{"absolute":%q,"resolved_parent":%q,"bytes":1,"classification":%q}]}`

// file is an intent that has an effect on a file.
func file(action, effect, path, parent, class string) string {
	return fmt.Sprintf(`shim {"action":%q,"task_id":"t","metadata":{`+blob+`}}`, action, effect, path, parent, class)
}

// operation is an intent on git or a database, with the members of its evidence.
func operation(action, kind, members string) string {
	return fmt.Sprintf(`shim {"action":%q,"task_id":"t","metadata":{"execution":{"race_safe_path_resolution":true},%q:{%s}}}`, action, kind, members)
}

var worlds = []world{
	{"payments", `version: 2.1.0

## evm
allowed_chains: 1
allowed_actions: wallet.transfer, contract.call
max_transaction_eth: 0.5
consensus_threshold_eth: 0.25
consensus_require_hold: true
token.USDC.decimals: 6
token.USDC.max_transaction: 250
token.USDC.addresses: 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48
require_calldata_enrichment: true
`, `
10 {"action":"wallet.transfer","amount":"0.1"} => CHAIN_NOT_ALLOWED
1 {"action":"token.approve","amount":"0.1"} => ACTION_NOT_ALLOWED
1 {"action":"wallet.transfer","amount":"0.500000000000000001"} => AMOUNT_EXCEEDED
1 {"action":"wallet.transfer","amount":"0.1e1"} => AMOUNT_INVALID
1 {"action":"wallet.transfer"} => AMOUNT_REQUIRED
1 {"action":"wallet.transfer","amount":"0.25"} => POLICY_HOLD_CONSENSUS_REQUIRED
1 {"action":"wallet.transfer","token":"DAI","amount":"1"} => TOKEN_NOT_ALLOWED
1 {"action":"wallet.transfer","token":"USDC","amount":"1","targetAddress":"0x00000000000000000000000000000000000000aa"} => TOKEN_NOT_ALLOWED
1 {"action":"wallet.transfer","token":"USDC","amount":"250.000001","targetAddress":"0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"} => TOKEN_AMOUNT_EXCEEDED
1 {"action":"wallet.transfer","token":"USDC","targetAddress":"0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"} => TOKEN_AMOUNT_INVALID
1 {"action":"contract.call","amount":"0","targetAddress":"0x00000000000000000000000000000000000000aa"} => CALLDATA_ENRICHMENT_REQUIRED
`},
	{"tools", `version: 2.0.0

## tool_calls
allowed: bash, file_write, web_fetch, http, email.send
bash.blocked_commands: rm -rf
file_write.blocked_paths: /etc
web_fetch.blocked_domains: evil.example
http.allowed_methods: GET
http.allowed_hosts: good.example
email.blocked_recipients: *@evil.example
email.allowed_recipients: *@good.example
email.require_approval: true

## mcp
allowed_tools: files.*
blocked_tools: files.delete
require_approval: files.write

## custom
deny_if.metadata.env: equals prod
deny_if.metadata.arguments.path: starts_with /etc
allow_only.metadata.team: red
`, `
{"action":"bash","command":"rm  -rf /"} => BLOCKED_COMMAND
{"action":"file_write","path":"/etc/passwd"} => BLOCKED_PATH
{"action":"http","method":"POST","url":"https://good.example/"} => TOOL_CALL_NOT_ALLOWED
{"action":"http","method":"GET","url":"https://www.good.example/"} => TOOL_CALL_NOT_ALLOWED
{"action":"web_fetch","url":"https://good.example/"} => TOOL_CALL_NOT_ALLOWED
{"action":"wget"} => TOOL_CALL_NOT_ALLOWED
{"action":"mcp.files.delete"} => TOOL_CALL_NOT_ALLOWED
{"action":"mcp.others.read"} => TOOL_CALL_NOT_ALLOWED
{"action":"mcp.files.write","metadata":{"team":"red"}} => POLICY_HOLD_APPROVAL_REQUIRED
{"action":"email.send","to":["a@good.example","a@evil.example"]} => BLOCKED_RECIPIENT
{"action":"email.send","to":"a@other.example"} => RECIPIENT_NOT_ALLOWED
{"action":"email.send"} => RECIPIENT_NOT_ALLOWED
{"action":"email.send","to":"a@good.example","metadata":{"team":"red"}} => POLICY_HOLD_APPROVAL_REQUIRED
{"action":"bash","command":"ls","metadata":{"env":"prod","team":"red"}} => CUSTOM_RULE
{"action":"mcp.files.read","metadata":{"team":"red","arguments":{"path":"/etc/passwd"}}} => CUSTOM_RULE
{"action":"mcp.files.read","metadata":{"team":"red","arguments":{"path":"/work/x"}}} =>
{"action":"bash","command":"ls"} => NOT_ON_ALLOWLIST
{"action":"bash","command":"ls","metadata":{"team":"blue"}} => NOT_ON_ALLOWLIST
`},
	{"domains", "version: 1.0.0\n\n## tool_calls\nallowed: web_fetch\nweb_fetch.blocked_domains: evil.example\n", `
{"action":"web_fetch","url":"https://www.evil.example/"} => BLOCKED_DOMAIN
`},
	{"limits", `version: 2.0.0

## tool_calls
allowed: bash

## execution_limits
max_tool_calls_per_task: 1
max_model_spend_usd_per_task: 1.50
max_model_tokens_per_task: 100

## soft_limits
cap.runs.max_count: 1
cap.runs.window: day
cap.runs.action: bash
cap.runs.group_by: metadata.customer
`, `
{"action":"bash","command":"ls","metadata":{"customer":"a","model_usage":{"total_tokens":1,"estimated_spend_usd":"0"}}} => TASK_ID_REQUIRED
{"action":"bash","command":"ls","task_id":"t-1","metadata":{"customer":"a"}} => MODEL_USAGE_UNAVAILABLE
{"action":"bash","command":"ls","task_id":"t-2","metadata":{"customer":"a","model_usage":{"total_tokens":1,"estimated_spend_usd":"1.500001"}}} => MODEL_SPEND_LIMIT_EXCEEDED
{"action":"bash","command":"ls","task_id":"t-3","metadata":{"customer":"a","model_usage":{"total_tokens":101,"estimated_spend_usd":"1.5"}}} => MODEL_TOKEN_LIMIT_EXCEEDED
{"action":"bash","command":"ls","task_id":"t-4","metadata":{"model_usage":{"total_tokens":100,"estimated_spend_usd":"1.5"}}} => AGGREGATE_FIELD_MISSING
{"action":"bash","command":"ls","task_id":"t-5","metadata":{"customer":"a","model_usage":{"total_tokens":100,"estimated_spend_usd":"1.5"}}} =>
{"action":"bash","command":"ls","task_id":"t-5","metadata":{"customer":"b","model_usage":{"total_tokens":100,"estimated_spend_usd":"1.5"}}} => LOOP_LIMIT_EXCEEDED
{"action":"bash","command":"ls","task_id":"t-6","metadata":{"customer":"a","model_usage":{"total_tokens":100,"estimated_spend_usd":"1.5"}}} => AGGREGATE_LIMIT_EXCEEDED
`},
	{"a tool's shim", "version: 2.1.0\n\n## tool_calls\nallowed: bash\nrequire_shim: true\n", `
{"action":"bash","command":"ls"} => PROVENANCE_REQUIRED
shim {"action":"bash","command":"ls"} =>
`},
	{"files", `version: 2.1.0

## filesystem
actions: file.*
write_roots: /work
read_roots: /work
allowed_effects: read, create
blocked_paths: .env
max_files_per_action: 1
max_bytes_written_per_task: 1
require_shim: true
`, `
{"action":"file.x"} => EXECUTION_BOUNDARY_REQUIRED
shim {"action":"file.x","task_id":"t","metadata":{"execution":{"race_safe_path_resolution":true},"filesystem":{}}} => FILE_EFFECT_REQUIRED
shim {"action":"file.x","task_id":"t","metadata":{"execution":{"race_safe_path_resolution":true},"filesystem":{"effects":["read"]}}} => FILE_PATH_REQUIRED
` + file("file.x", "delete", "/work/x", "/work", "none") + ` => FILE_EFFECT_NOT_ALLOWED
` + file("file.x", "create", "/etc/x", "/etc", "none") + ` => FILE_OUTSIDE_ROOT
` + file("file.x", "read", "/work/.env", "/work", "none") + ` => FILE_BLOCKED_PATH
` + file("file.x", "read", "/work/../etc/x", "/work", "none") + ` => FILE_TARGET_UNTRUSTED
` + file("file.x", "create", "/work/x", "/work", "none") + ` =>
` + file("file.x", "create", "/work/y", "/work", "none") + ` => IMPACT_LIMIT
`},
	{"a repository", `version: 2.1.0

## repository
roots: /work
protect_sensitive_files: true
require_shim: true

## tool_calls
allowed: bash
`, file("bash", "overwrite", "/work", "/", "source") + ` => REPOSITORY_ROOT_MUTATION
` + file("bash", "overwrite", "/work/key.pem", "/work", "secret") + ` => SENSITIVE_FILE
` + file("bash", "egress", "/work/key.pem", "/work", "secret") + ` => SENSITIVE_EGRESS
`},
	{"git", `version: 2.1.0

## repository
roots: /work
protect_git_history: true
git_providers: github
require_shim: true

## git
actions: git.*
providers: github
blocked_operations: change_protection
protected_refs: main
require_shim: true
`, operation("git.x", "git", ``) + ` => GIT_METADATA_REQUIRED
` + operation("git.x", "git", `"operation":"prune_remote","repository_id":"r","provider":"github","worktree":"/work"`) + ` => GIT_OPERATION_BLOCKED
` + operation("git.x", "git", `"operation":"status","repository_id":"r","provider":"github","worktree":"/etc"`) + ` => GIT_TOPOLOGY_UNTRUSTED
` + operation("git.x", "git", `"operation":"fetch","repository_id":"r","provider":"github","worktree":"/work","ref_updates":[{"ref":"refs/heads/main"}]`) + ` => GIT_REF_NOT_ALLOWED
` + operation("git.x", "git", `"operation":"status","repository_id":"r","provider":"elsewhere","worktree":"/work"`) + ` => PROVIDER_UNSUPPORTED
` + operation("git.x", "git", `"operation":"change_protection","repository_id":"r","provider":"github","worktree":"/work"`) + ` => PROVIDER_OPERATION_BLOCKED
`},
	{"a database", `version: 2.1.0

## database
actions: db.*
protected_environments: production
allowed_operations: select, insert, create_routine
allowed_resources: app.public.*
require_read_only_for_select: true
deny_unreviewed_indirect_effects: true
require_shim: true
`, operation("db.x", "database", ``) + ` => DATABASE_METADATA_REQUIRED
` + operation("db.x", "database", `"environment":"dev","operations":[1],"resources":["app.public.users"],"statement_count":1,"credential_capabilities":["read"]`) + ` => DATABASE_PARSE_FAILED
` + operation("db.x", "database", `"environment":"dev","operations":["update"],"resources":["app.public.users"],"statement_count":1,"credential_capabilities":["read"]`) + ` => DATABASE_OPERATION_NOT_ALLOWED
` + operation("db.x", "database", `"environment":"dev","operations":["insert"],"resources":["app.private.x"],"statement_count":1,"credential_capabilities":["read"]`) + ` => DATABASE_RESOURCE_NOT_ALLOWED
` + operation("db.x", "database", `"environment":"dev","operations":["create_routine"],"resources":["app.public.f"],"statement_count":1,"credential_capabilities":["read"]`) + ` => DATABASE_ROUTINE_NOT_ALLOWED
` + operation("db.x", "database", `"environment":"dev","operations":["select"],"resources":["app.public.users"],"statement_count":1,"credential_capabilities":["write"]`) + ` => DATABASE_CAPABILITY_UNTRUSTED
`},
}

// elsewhere are the codes of decisions that no policy leads to by itself.
var elsewhere = map[errcode.Code]string{
	errcode.HoldDenied: "an operator denies a hold: TestHostedStory",
	errcode.LimitStore: "the store fails: TestCountersFail of httpd",
}

// TestEveryDecisionCode has the service answer with every code that a decision can have, on authorize and on test-run:
// with the HTTP status of the table, the rule, and a message; and without an attestation.
func TestEveryDecisionCode(t *testing.T) {
	t.Parallel()
	seen := map[errcode.Code]bool{}
	for _, w := range worlds {
		s := newSite(t, w.policy)
		service := s.start()
		keys := map[bool]string{false: s.apiKey(), true: s.apiKey("--shim")}
		for line := range strings.Lines(strings.TrimSpace(w.intents)) {
			request, short, _ := strings.Cut(strings.TrimSpace(line), " =>")
			want := fullCode(t, strings.TrimSpace(short))
			request, shim := strings.CutPrefix(request, "shim ")
			body := envelope(request)
			service.answers(t, w.name, "/v1/authorize/test-run", keys[shim], body, want)
			service.answers(t, w.name, "/v1/authorize", keys[shim], body, want)
			seen[want] = true
		}
		service.kill()
	}
	for _, info := range errcode.Table {
		if why := elsewhere[info.Code]; info.Class != errcode.Failure && !seen[info.Code] && why == "" {
			t.Errorf("the service never answers with %s", info.Code)
		}
	}
}

// fullCode is a code of the table, in full; none where nothing is written.
func fullCode(t *testing.T, short string) errcode.Code {
	t.Helper()
	if short == "" {
		return ""
	}
	for _, prefix := range []string{"SVC_POLICY_VIOLATION_", "SVC_"} {
		if c := errcode.Code(prefix + short); errcode.Lookup(c).Code == c {
			return c
		}
	}
	t.Fatalf("%q is the code of nothing", short)
	return ""
}

// envelope makes a request of a line's intent and chain.
func envelope(line string) string {
	chain := ""
	if number, rest, found := strings.Cut(line, " "); found && !strings.HasPrefix(line, "{") {
		chain, line = `"chainId":`+number+`,`, rest
	}
	return fmt.Sprintf(`{"framework":"custom","agentId":"agent-1","txCommit":"%s",%s"intent":%s}`, strings.Repeat("ab", 32), chain, line)
}

// answers compares a decision with a code, ALLOWED where it is empty.
func (r *running) answers(t *testing.T, world, path, key, body string, want errcode.Code) {
	t.Helper()
	got := r.ask(path, key, body)
	simulated := strings.HasSuffix(path, "/test-run")
	status, http := "ALLOWED", 200
	if want != "" {
		status, http = errcode.Lookup(want).Status, errcode.Lookup(want).HTTP
	}
	if simulated {
		http = 200
	}
	if got.Status != status || got.Code != string(want) || got.HTTP != http || got.TestRun != simulated {
		t.Errorf("%s: %s on %s: %d %s, and not %s %s", world, body, path, got.HTTP, got.Raw, status, want)
	}
	if got.Message == "" || len(got.PolicyHash) != 64 || (got.Rule == "") != (want == "") || (got.Attestation != "") != (status == "ALLOWED" && !simulated) {
		t.Errorf("%s: %s on %s lacks something, or has too much: %s", world, body, path, got.Raw)
	}
}
