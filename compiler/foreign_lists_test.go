package compiler

import (
	"slices"
	"strings"
	"testing"

	"bailiff/compiler/codes"
	"bailiff/compiler/example"
	"bailiff/compiler/frame"
	"bailiff/grammar"
)

// itemsOf has three items of each type that a list which blocks can have.
var itemsOf = map[frame.Type][]string{
	frame.TypeTexts: {"rm -rf", "sudo", "shutdown"}, frame.TypeHosts: {"evil.example", "bad.example", "worse.example"},
	frame.TypePaths: {"/etc", "~/.ssh", ".env"}, frame.TypeRecipients: {"a@evil.example", "*@bad.example", "b@bad.example.org"},
	frame.TypeWords: nil, frame.TypeTools: {"files.delete", "files.write_*", "*_admin"}, frame.TypePatterns: {"deploy", "wallet.*", "bash"},
	frame.TypeNames: {"production", "secret", "credential"}, frame.TypeRefs: {"main", "release/*", "refs/tags/v1"},
}

// A foreignListForm is a way to write three items that is none of a policy.
type foreignListForm struct {
	name string
	code grammar.Code
	in   func(*frame.Key) bool
	list func(items []string) string
}

func everywhere(*frame.Key) bool { return true }

var foreignListForms = []foreignListForm{
	{"quotes", codes.ListQuoted, everywhere, func(items []string) string { return `"` + strings.Join(items, ", ") + `"` }},
	{"brackets", codes.ListMarks, everywhere, func(items []string) string { return "[" + strings.Join(items, ", ") + "]" }},
	{"braces", codes.ListMarks, everywhere, func(items []string) string { return "{" + strings.Join(items, ", ") + "}" }},
	{"backquotes", codes.ListMarks, everywhere, func(items []string) string { return "`" + strings.Join(items, "`, `") + "`" }},
	{"one in brackets", codes.ListMarks, everywhere, func(items []string) string { return items[0] + ", [" + items[1] + "]" }},
	{"semicolons", codes.ListSeparator, everywhere, func(items []string) string { return strings.Join(items, "; ") }},
	{"bars", codes.ListSeparator, everywhere, func(items []string) string { return strings.Join(items, " | ") }},
	{"one semicolon", codes.ListSeparator, everywhere, func(items []string) string { return items[0] + ", " + items[1] + ";" + items[2] }},
	{"blanks", codes.ListSeparator, func(row *frame.Key) bool { return row.Type != frame.TypeTexts && row.Name != "protected_file_classes" },
		func(items []string) string { return strings.Join(items, " ") }},
	{"slashes", codes.ListMarks, func(row *frame.Key) bool { return row.Type != frame.TypePaths },
		func(items []string) string { return "/^" + strings.ReplaceAll(items[0], "*", ".*") + "$/, " + items[1] }},
}

// TestForeignLists writes the list of every key that denies or holds in every foreign form: it is refused with one finding,
// whose fix gives the list that was meant; and a text in force with it stays in force.
func TestForeignLists(t *testing.T) {
	tried := 0
	for _, row := range schema {
		if !row.Blocks {
			continue
		}
		items := itemsOf[row.Type]
		if row.Values != nil {
			items = row.Values[:3]
		}
		if len(items) < 3 {
			t.Fatalf("%s: no items of a %s", row.Name, row.Type)
		}
		plain := keyPolicy(row, strings.Join(items, ", "))
		if _, found := compileText(plain); found.HasErrors() {
			t.Fatalf("the list is refused as it should be written: %v\n%s", found, plain)
		}
		for _, form := range foreignListForms {
			if !form.in(row) {
				continue
			}
			tried++
			checkForeignList(t, row, form, keyPolicy(row, form.list(items)))
		}
	}
	if tried < 100 {
		t.Errorf("only %d lists were tried", tried)
	}
}

func checkForeignList(t *testing.T, row *frame.Key, form foreignListForm, text string) {
	t.Helper()
	_, found := compileText(text)
	errors := slices.DeleteFunc(slices.Clone(found), func(d grammar.Diagnostic) bool { return d.Severity != grammar.Error || d.Code == codes.QuotedInProfile })
	if len(errors) != 1 || errors[0].Code != form.code || errors[0].Fix == nil {
		t.Errorf("%s: %s of %s: want %s with a fix and no other error, got %v\n%s", form.name, row.Name, row.Section, form.code, errors, text)
		return
	}
	fix := errors[0].Fix
	mended := text[:fix.Span.Start] + fix.Replacement + text[fix.Span.End:]
	if _, left := compileText(mended); left.HasErrors() {
		t.Errorf("%s: %s of %s: the fix leaves %v\n%s", form.name, row.Name, row.Section, left, mended)
	}
	if !slices.Contains([]frame.Type{frame.TypeTexts, frame.TypePaths, frame.TypeTools, frame.TypeNames}, row.Type) || row.Bare && form.name == "quotes" {
		return // never was in force: the item was refused already
	}
	if compiled, _ := CompileInForce(grammar.NewSource("policy", []byte(text))); compiled.Program == nil {
		t.Errorf("%s: %s of %s: a text in force is refused\n%s", form.name, row.Name, row.Section, text)
	}
}

// keyPolicy is a policy with that value of a list, and what a policy needs beside.
func keyPolicy(row *frame.Key, value string) string {
	lines := row.Name + ": " + value + "\n"
	switch row.Section {
	case "tool_calls":
		lines = "allowed: bash, http, web_fetch, file_write, email.send\n" + lines
	case "evm":
		lines = "allowed_chains: 1\nallowed_actions: wallet.transfer\nmax_transaction_eth: 1\n" + lines
	case "mcp":
		lines = "allowed_servers: files\n" + lines
	case "soft_limits":
		lines = "daily_tool_calls: 5\n" + lines
	case "execution_limits":
		lines = "max_tool_calls_per_hour: 5\n" + lines
	case "filesystem", "git", "database":
		lines = "actions: x.*\nrequire_shim: true\n" + lines
	}
	return "version: 2.4.0\n## " + row.Section + "\n" + lines
}

// TestBlockingKeys holds the mark of the lists that block to their names.
func TestBlockingKeys(t *testing.T) {
	for _, row := range schema {
		named := frame.IsListKey(row) && row.Type != frame.TypeActions &&
			(strings.Contains(row.Name, "blocked") || strings.HasPrefix(row.Name, "protected_") || strings.HasSuffix(row.Name, frame.NameApproval))
		if row.Blocks != named {
			t.Errorf("%s of %s: Blocks is %v", row.Name, row.Section, row.Blocks)
		}
	}
}

// TestListsAsMeant: what looks foreign and is meant is no finding.
func TestListsAsMeant(t *testing.T) {
	for _, list := range []string{
		"| sh", "> /dev/sda", "curl | bash", "wget -qO- | sudo -E sh", ":(){ :|:& };:", "a && b", "/usr/bin/dd", "dd if=/dev/zero", `"a; b"`, `"[x]", sudo`,
		`'rm | tee'`, "; rm", "git push --force", "chmod 777", "rm sudo", `"rm sudo shutdown"`, "echo \"a, b\"",
	} {
		checkMeant(t, example.Tools("bash.blocked_commands: "+list))
	}
	checkMeant(t, "version: 2.0.0\n## tool_calls\nallowed: file_write\nfile_write.blocked_paths: /srv/my files, ~/Library/Application Support, src/[slug], \"/a /b\"\n")
	checkMeant(t, "version: 2.0.0\n## tool_calls\nallowed: web_fetch\nweb_fetch.blocked_domains: [::1], [fd00::1]\n")
	checkMeant(t, example.Custom("allow_only.metadata.team: \"Acme, Inc.\", a; b\nallow_only.metadata.id matches: [A-Z][0-9]\ndeny_string: \"a; b\""))
}

func checkMeant(t *testing.T, text string) {
	t.Helper()
	_, found := compileText(text)
	for _, code := range []grammar.Code{codes.ListQuoted, codes.ListMarks, codes.ListSeparator, codes.ListBrackets, codes.NotDivided, codes.CommandWords, codes.TextMarks, codes.SlashComment} {
		if hasCode(found, code) {
			t.Errorf("%s is found in\n%s", code, text)
		}
	}
}
