package oracle_test

import (
	"encoding/json"
	"strings"
)

// files makes a line about files: effects, and targets as `absolute>resolved_parent:classification:bytes`.
func files(action, effects, targets, more string) string {
	var all []map[string]any
	for _, spec := range strings.Fields(targets) {
		parts := strings.Split(spec, ":")
		name, parent, _ := strings.Cut(parts[0], ">")
		target := map[string]any{"absolute": name}
		if parent != "" {
			target["resolved_parent"] = parent
		}
		if len(parts) > 1 && parts[1] != "" {
			target["classification"] = parts[1]
		}
		if len(parts) > 2 {
			target["bytes"] = json.Number(parts[2])
		}
		all = append(all, target)
	}
	metadata := map[string]any{
		"execution":  map[string]any{"race_safe_path_resolution": true, "writable_roots": []string{"/w"}, "readable_roots": []string{"/"}},
		"filesystem": map[string]any{"effects": strings.Fields(effects), "targets": all},
	}
	if more != "" {
		var extra map[string]any
		if err := json.Unmarshal([]byte(more), &extra); err != nil {
			panic(err)
		}
		for name, value := range extra {
			metadata[name] = value
		}
	}
	text, err := json.Marshal(map[string]any{"action": action, "task_id": "T", "metadata": metadata})
	if err != nil {
		panic(err)
	}
	return "shim " + string(text)
}

// effect makes a line about one profile's member of metadata.
func effect(action, member, value string) string {
	return `shim {"action":"` + action + `","task_id":"T","metadata":{"execution":{"writable_roots":["/w"]},"` + member + `":` + value + `}}`
}

const gitGood = `"repository_id":"r","worktree":"/w/repo","provider":"github","remote_scheme":"https"`

var profileTables = []table{
	{"filesystem", `version: 2.1.0
## filesystem
require_shim: true
actions: fs.*, file_write
allowed_effects: read, create, delete, copy, egress, overwrite
write_roots: ., /srv
read_roots: .
blocked_paths: .env
protected_file_classes: secret
protected_effects: read, egress
max_files_per_action: 2
max_bytes_written_per_task: 100
max_bytes_deleted_per_task: 50
max_destructive_effects_per_task: 3
`, `
{"action":"fs.x","metadata":{"execution":{}}} => DENIED EXECUTION_BOUNDARY_REQUIRED execution.boundary
shim {"action":"fs.x"} => DENIED EXECUTION_BOUNDARY_REQUIRED execution.boundary
shim {"action":"fs.x","metadata":{"execution":[]}} => DENIED EXECUTION_BOUNDARY_REQUIRED execution.boundary
shim {"action":"fs.x","metadata":{"execution":{}}} => DENIED FILE_EFFECT_REQUIRED filesystem.actions
{"action":"other"} => DENIED TOOL_CALL_NOT_ALLOWED tool_calls.allowed
` + files("fs.x", "", "/w/a>/w", "") + ` => DENIED FILE_EFFECT_REQUIRED filesystem.actions
` + files("fs.x", "fly", "/w/a>/w", "") + ` => DENIED FILE_EFFECT_REQUIRED filesystem.actions
` + files("fs.x", "read", "", "") + ` => DENIED FILE_PATH_REQUIRED filesystem.actions
` + files("fs.x", "read", "w/a>/w", "") + ` => DENIED FILE_TARGET_UNTRUSTED filesystem.actions
` + files("fs.x", "read", "/w/../a>/w", "") + ` => DENIED FILE_TARGET_UNTRUSTED filesystem.actions
` + files("fs.x", "read", "/w/a", "") + ` => DENIED FILE_TARGET_UNTRUSTED filesystem.actions
` + files("fs.x", "read", "/w/a>/w", `{"execution":{}}`) + ` => DENIED FILE_TARGET_UNTRUSTED filesystem.actions
` + files("fs.x", "read chmod", "/w/a>/w:none", "") + ` => DENIED FILE_EFFECT_NOT_ALLOWED filesystem.allowed_effects
` + files("FS.x", "read", "/w/a>/:none", "") + ` => ALLOWED | filesystem.max_bytes_written_per_task task "T" sum 0/100 | filesystem.max_bytes_deleted_per_task task "T" sum 0/50 | filesystem.max_destructive_effects_per_task task "T" sum 0/3
` + files("fs.x", "create", "/w/a>/w/b:none:10 /srv/c>/srv:none:11", "") + ` => ALLOWED | filesystem.max_bytes_written_per_task task "T" sum 21/100 | filesystem.max_bytes_deleted_per_task task "T" sum 0/50 | filesystem.max_destructive_effects_per_task task "T" sum 0/3
` + files("fs.x", "overwrite delete", "/w/a>/w:none:10 /w/b>/w:none:5", "") + ` => ALLOWED | filesystem.max_bytes_written_per_task task "T" sum 15/100 | filesystem.max_bytes_deleted_per_task task "T" sum 15/50 | filesystem.max_destructive_effects_per_task task "T" sum 4/3
` + files("fs.x", "create", "/w/a>/etc:none:10", "") + ` => DENIED FILE_OUTSIDE_ROOT filesystem.write_roots
` + files("fs.x", "create", "/etc/a>/w:none:10", "") + ` => DENIED FILE_OUTSIDE_ROOT filesystem.write_roots
` + files("fs.x", "create", "/wx/a>/w:none:10", "") + ` => DENIED FILE_OUTSIDE_ROOT filesystem.write_roots
` + files("fs.x", "read", "/w/a>/w:none", `{"execution":{"race_safe_path_resolution":true}}`) + ` => DENIED FILE_OUTSIDE_ROOT filesystem.read_roots
` + files("fs.x", "read", "/w/.Env>/w:none", "") + ` => DENIED FILE_BLOCKED_PATH filesystem.blocked_paths
` + files("fs.x", "read", "/w/a>/w", "") + ` => DENIED FILE_TARGET_UNTRUSTED filesystem.protected_file_classes
` + files("fs.x", "read", "/w/a>/w:secret", "") + ` => DENIED SENSITIVE_FILE filesystem.protected_file_classes
` + files("fs.x", "egress", "/w/a>/w:secret", "") + ` => DENIED SENSITIVE_EGRESS filesystem.protected_file_classes
` + files("fs.x", "create", "/w/a>/w:secret:1 /w/b>/w:none:1 /w/c>/w:none:1", "") + ` => DENIED IMPACT_LIMIT filesystem.max_files_per_action
` + files("fs.x", "create", "/w/a>/w:none", "") + ` => DENIED IMPACT_LIMIT filesystem.max_bytes_written_per_task
` + files("fs.x", "delete", "/w/a>/w:none:-1", "") + ` => DENIED IMPACT_LIMIT filesystem.max_bytes_deleted_per_task
` + strings.Replace(files("fs.x", "read", "/w/a>/w:none", ""), `,"task_id":"T"`, "", 1) + ` => DENIED TASK_ID_REQUIRED filesystem.max_bytes_written_per_task
`},
	{"above a root", `version: 2.1.0
## tool_calls
allowed: bash
## repository
require_shim: true
roots: /a/b/repo
`, `
` + files("bash", "delete", "/a>/", "") + ` => DENIED REPOSITORY_ROOT_MUTATION repository.roots
` + files("bash", "rename", "/x>/:none /b>/a", "") + ` => DENIED REPOSITORY_ROOT_MUTATION repository.roots
` + files("bash", "read", "/a>/", "") + ` => ALLOWED
` + files("bash", "delete", "/a/bb>/a", "") + ` => ALLOWED
`},
	{"repository", `version: 2.1.0
## tool_calls
allowed: bash, file_write, web_fetch
bash.blocked_commands: rm
## repository
require_shim: true
roots: /w/repo, .
block_outside_writes: true
protect_git_history: true
protect_sensitive_files: true
git_providers: github
## git
require_shim: true
actions: git.*
providers: gitlab, svn, github
blocked_operations: reset_hard
`, `
{"action":"web_fetch"} => ALLOWED
{"action":"bash","command":"rm x"} => DENIED EXECUTION_BOUNDARY_REQUIRED execution.boundary
shim {"action":"bash","command":"ls","metadata":{"execution":{}}} => DENIED FILE_EFFECT_REQUIRED repository.roots
` + files("bash", "create", "/w>/", "") + ` => DENIED REPOSITORY_ROOT_MUTATION repository.roots
` + files("file_write", "create", "/w/repo>/x:none", "") + ` => DENIED REPOSITORY_ROOT_MUTATION repository.roots
` + files("file_write", "create", "/etc/x>/etc:none", "") + ` => DENIED FILE_OUTSIDE_ROOT repository.block_outside_writes
` + files("file_write", "create", "/w/repo/.GIT/config>/w/repo/.GIT:none", "") + ` => DENIED FILE_BLOCKED_PATH repository.protect_git_history
` + files("file_write", "read", "/w/repo/.git/config>/w/repo/.git:none", "") + ` => ALLOWED
` + files("file_write", "create", "/w/a>/w", "") + ` => DENIED FILE_TARGET_UNTRUSTED repository.protect_sensitive_files
` + files("file_write", "create", "/w/a>/w:Public", "") + ` => DENIED SENSITIVE_FILE repository.protect_sensitive_files
` + files("file_write", "egress", "/w/a>/w:keys", "") + ` => DENIED SENSITIVE_EGRESS repository.protect_sensitive_files
` + files("file_write", "create", "/w/a>/w:source", "") + ` => ALLOWED
shim {"action":"git.push","metadata":{"execution":{},"git":{"operation":"status"}}} => DENIED GIT_TOPOLOGY_UNTRUSTED git.actions
shim {"action":"git.push","metadata":{"execution":{}}} => DENIED GIT_METADATA_REQUIRED git.actions
` + effect("git.push", "git", `{"operation":"force_push",`+gitGood+`}`) + ` => DENIED GIT_METADATA_REQUIRED git.actions
` + effect("git.push", "git", `{"operation":"reset_hard",`+gitGood+`}`) + ` => DENIED GIT_OPERATION_BLOCKED repository.protect_git_history
` + effect("git.push", "git", `{"operation":"status","repository_id":"r","worktree":"/w","provider":"svn"}`) + ` => DENIED PROVIDER_UNSUPPORTED repository.git_providers
` + effect("git.push", "git", `{"operation":"status","repository_id":"r","worktree":"/x","provider":"github"}`) + ` => DENIED GIT_TOPOLOGY_UNTRUSTED repository.roots
` + effect("git.push", "git", `{"operation":"status",`+gitGood+`}`) + ` => ALLOWED
`},
	{"git", `version: 2.1.0
## git
require_shim: true
actions: git.*
providers: github, generic
allowed_remote_schemes: https
allowed_operations: status, push_fast_forward, fetch, create_tag
require_approval: fetch
blocked_operations: change_protection, commit
protected_refs: main, refs/heads/release/*
max_ref_changes_per_task: 9
`, `
shim {"action":"git.x","metadata":{"execution":{}}} => DENIED GIT_METADATA_REQUIRED git.actions
` + effect("git.x", "git", `{"operation":"fly",`+gitGood+`}`) + ` => DENIED GIT_METADATA_REQUIRED git.actions
` + effect("git.x", "git", `{"operation":"status","ref_updates":[],`+gitGood+`}`) + ` => DENIED GIT_METADATA_REQUIRED git.actions
` + effect("git.x", "git", `{"operation":"push_fast_forward",`+gitGood+`}`) + ` => DENIED GIT_METADATA_REQUIRED git.actions
` + effect("git.x", "git", `{"operation":"status","repository_id":"","worktree":"/w","provider":"github"}`) + ` => DENIED GIT_TOPOLOGY_UNTRUSTED git.actions
` + effect("git.x", "git", `{"operation":"status","repository_id":"r","worktree":"w","provider":"github"}`) + ` => DENIED GIT_TOPOLOGY_UNTRUSTED git.actions
` + effect("git.x", "git", `{"operation":"status","repository_id":"r","worktree":"/w"}`) + ` => DENIED PROVIDER_UNSUPPORTED git.providers
` + effect("git.x", "git", `{"operation":"fetch","repository_id":"r","worktree":"/w","provider":"github"}`) + ` => DENIED GIT_TOPOLOGY_UNTRUSTED git.allowed_remote_schemes
` + effect("git.x", "git", `{"operation":"change_protection",`+gitGood+`}`) + ` => DENIED PROVIDER_OPERATION_BLOCKED git.blocked_operations
` + effect("git.x", "git", `{"operation":"commit",`+gitGood+`}`) + ` => DENIED GIT_OPERATION_BLOCKED git.blocked_operations
` + effect("git.x", "git", `{"operation":"delete_repository",`+gitGood+`}`) + ` => DENIED PROVIDER_OPERATION_BLOCKED git.allowed_operations
` + effect("git.x", "git", `{"operation":"clean",`+gitGood+`}`) + ` => DENIED GIT_OPERATION_BLOCKED git.allowed_operations
` + effect("git.x", "git", `{"operation":"push_fast_forward","ref_updates":[{"ref":"a","fast_forward":true},{"ref":"b"}],`+gitGood+`}`) + ` => DENIED GIT_OPERATION_BLOCKED git.allowed_operations
` + effect("git.x", "git", `{"operation":"push_fast_forward","ref_updates":[{"ref":"refs/tags/main","fast_forward":true}],`+gitGood+`}`) + ` => DENIED GIT_REF_NOT_ALLOWED git.protected_refs
` + effect("git.x", "git", `{"operation":"create_tag","ref_updates":[{"ref":"refs/heads/release/1"}],`+gitGood+`}`) + ` => DENIED GIT_REF_NOT_ALLOWED git.protected_refs
` + effect("git.x", "git", `{"operation":"push_fast_forward","ref_updates":[{"ref":"refs/heads/x","fast_forward":true},{"ref":"maintenance","fast_forward":true}],`+gitGood+`}`) + ` => ALLOWED | git.max_ref_changes_per_task task "T" sum 2/9
` + effect("git.x", "git", `{"operation":"fetch",`+gitGood+`}`) + ` => PENDING APPROVAL_REQUIRED git.require_approval | git.max_ref_changes_per_task task "T" sum 0/9
`},
	{"database", `version: 2.1.0
## database
require_shim: true
actions: sql, mcp.db.*
protected_environments: Production, kprod, test
allowed_operations: select, insert, create_table, drop_table, execute_routine, create_routine, grant
require_approval: drop_table
allowed_resources: app.*.orders, app.public.*, audit
routine_catalog: app.public.f
require_read_only_for_select: true
deny_unreviewed_indirect_effects: true
max_schema_changes_per_task: 2
## mcp
allowed_servers: db
`, `
shim {"action":"sql","metadata":{"execution":{}}} => DENIED DATABASE_METADATA_REQUIRED database.actions
{"action":"mcp.db.q"} => DENIED EXECUTION_BOUNDARY_REQUIRED execution.boundary
` + effect("sql", "database", `{"operations":["select"]}`) + ` => DENIED DATABASE_METADATA_REQUIRED database.actions
` + effect("sql", "database", `{"operations":["selekt"],"statement_count":1}`) + ` => DENIED DATABASE_PARSE_FAILED database.actions
` + effect("sql", "database", `{"operations":["select"],"statement_count":0}`) + ` => DENIED DATABASE_PARSE_FAILED database.actions
` + effect("sql", "database", `{"operations":["insert"],"statement_count":1}`) + ` => DENIED DATABASE_METADATA_REQUIRED database.protected_environments
` + effect("sql", "database", `{"operations":["insert"],"statement_count":1,"environment":"PRODUCTION","resources":["audit"]}`) + ` => DENIED DATABASE_OPERATION_NOT_ALLOWED database.protected_environments
` + effect("sql", "database", `{"operations":["insert"],"statement_count":1,"environment":"\u212aprod","resources":["audit"]}`) + ` => DENIED DATABASE_OPERATION_NOT_ALLOWED database.protected_environments
` + effect("sql", "database", `{"operations":["insert"],"statement_count":1,"environment":"te\u017ft","resources":["audit"]}`) + ` => ALLOWED
` + effect("mcp.db.q", "database", `{"operations":["select"],"statement_count":1,"environment":"production","resources":["audit"],"credential_capabilities":["read"]}`) + ` => ALLOWED | database.max_schema_changes_per_task task "T" sum 0/2
` + effect("sql", "database", `{"operations":["delete"],"statement_count":1,"environment":"dev","resources":["audit"]}`) + ` => DENIED DATABASE_OPERATION_NOT_ALLOWED database.allowed_operations
` + effect("sql", "database", `{"operations":["insert"],"statement_count":1,"environment":"dev"}`) + ` => DENIED DATABASE_RESOURCE_NOT_ALLOWED database.allowed_resources
` + effect("sql", "database", `{"operations":["insert"],"statement_count":1,"environment":"dev","resources":["app.a.b.orders"]}`) + ` => DENIED DATABASE_RESOURCE_NOT_ALLOWED database.allowed_resources
` + effect("sql", "database", `{"operations":["insert"],"statement_count":1,"environment":"dev","resources":["app.x.orders","app.public.a.b"]}`) + ` => ALLOWED
` + effect("sql", "database", `{"operations":["execute_routine"],"statement_count":1,"environment":"dev","resources":["app.public.g"]}`) + ` => DENIED DATABASE_ROUTINE_NOT_ALLOWED database.routine_catalog
` + effect("sql", "database", `{"operations":["execute_routine"],"statement_count":1,"environment":"dev","resources":["app.public.f"]}`) + ` => ALLOWED
` + effect("sql", "database", `{"operations":["select"],"statement_count":1,"environment":"dev","resources":["audit"],"credential_capabilities":["read","write"]}`) + ` => DENIED DATABASE_CAPABILITY_UNTRUSTED database.require_read_only_for_select
` + effect("sql", "database", `{"operations":["create_routine"],"statement_count":1,"environment":"dev","resources":["audit"]}`) + ` => DENIED DATABASE_ROUTINE_NOT_ALLOWED database.deny_unreviewed_indirect_effects
` + effect("sql", "database", `{"operations":["create_table","insert","drop_table"],"statement_count":3,"environment":"dev","resources":["audit"]}`) + ` => PENDING APPROVAL_REQUIRED database.require_approval | database.max_schema_changes_per_task task "T" sum 3/2
`},
}
