package e2e

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// exists reports whether a tool left its mark.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestFilesystem is server-filesystem (2025-11-25) under a policy that lets it read, and write under one name only. What
// counts is what is on the disk.
func TestFilesystem(t *testing.T) {
	s := newStage(t, `version: 2.3.0

## mcp

allowed_tools: files.read_text_file, files.write_file, files.list_directory
blocked_tools: files.move_*

## custom

allow_only[action=mcp.files.write_file].metadata.arguments.path ends_with: /note.txt
`, packages, "mcp")
	folder := t.TempDir()
	note, other := filepath.Join(folder, "note.txt"), filepath.Join(folder, "other.txt")
	session := s.connect(nil, []string{"--server", "files", "--hide-denied"}, filepath.Join(s.node, "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"), folder)
	if got := session.InitializeResult().ProtocolVersion; got != "2025-11-25" {
		t.Fatalf("the server speaks %s", got)
	}
	if text, failed := s.call(session, "write_file", map[string]any{"path": note, "content": "kept"}); failed || !exists(note) {
		t.Errorf("an allowed write: %s", text)
	}
	if text, failed := s.call(session, "read_text_file", map[string]any{"path": note}); failed || text != "kept" {
		t.Errorf("an allowed read: %s", text)
	}
	for tool, arguments := range map[string]map[string]any{
		"write_file":       {"path": other, "content": "x"},
		"create_directory": {"path": other},
		"move_file":        {"source": note, "destination": other},
	} {
		if text, failed := s.call(session, tool, arguments); !failed || !strings.Contains(text, "DENIED SVC_POLICY_VIOLATION_") || exists(other) || !exists(note) {
			t.Errorf("%s: %s", tool, text)
		}
	}
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); got != "read_text_file write_file list_directory" {
		t.Errorf("shown: %s", got)
	}
	if text, _ := s.call(session, "no_such_tool", nil); !strings.Contains(text, "MCP_TOOL_NOT_LISTED") {
		t.Errorf("a tool that is not listed: %s", text)
	}
}

// TestEverything is server-everything (2025-11-25): methods besides calls of tools, and requests of the server.
func TestEverything(t *testing.T) {
	s := newStage(t, `version: 2.3.0

## mcp

allowed_tools: every.echo, every.trigger-*, every.prompts.get
`, packages, "mcp")
	script := filepath.Join(s.node, "node_modules/@modelcontextprotocol/server-everything/dist/index.js")
	asked := 0
	options := &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked++
		return &mcp.ElicitResult{Action: "decline"}, nil
	}}
	session := s.connect(options, []string{"--server", "every"}, script, "stdio")
	if text, failed := s.call(session, "echo", map[string]any{"message": "ä <&>"}); failed || !strings.Contains(text, "ä <&>") {
		t.Errorf("an allowed call: %s", text)
	}
	prompts, err := session.ListPrompts(t.Context(), nil)
	if err != nil || len(prompts.Prompts) == 0 {
		t.Fatalf("prompts: %v", err)
	}
	if _, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: prompts.Prompts[0].Name}); err != nil {
		t.Errorf("an allowed prompt: %v", err)
	}
	resources, err := session.ListResources(t.Context(), nil)
	if err != nil || len(resources.Resources) == 0 {
		t.Fatalf("resources: %v", err)
	}
	if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: resources.Resources[0].URI}); err == nil || !strings.Contains(err.Error(), "mcp.allowed_tools") {
		t.Errorf("a resource that is not allowed: %v", err)
	}
	s.call(session, "trigger-elicitation-request", map[string]any{})
	if asked != 0 {
		t.Error("the server asked the client")
	}
	open := s.connect(options, []string{"--server", "every", "--allow-server-requests"}, script, "stdio")
	s.call(open, "trigger-elicitation-request", map[string]any{})
	if asked == 0 {
		t.Error("the server may ask, and the client was not asked")
	}
}

const smallPolicy = `version: 2.3.0

## mcp

allowed_tools: small.note, small.publish
require_approval: small.publish
`

// TestModern is a server of 2026-07-28: a hold becomes a question to the user, who has it approved, and the call goes on.
func TestModern(t *testing.T) {
	s := newStage(t, smallPolicy, packages, "mcp")
	marks, question := t.TempDir(), ""
	options := &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		question = r.Params.Message
		if exists(filepath.Join(marks, "publish")) {
			t.Error("the call arrived before its approval")
		}
		if hold := regexp.MustCompile(`holds approve ([0-9a-f-]{36})`).FindStringSubmatch(question); hold != nil {
			s.bailiff("holds", "approve", "--yes", hold[1], "--key", s.path("operator.key"))
		}
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
	}}
	session := s.connect(options, []string{"--server", "small"}, filepath.Join(s.node, "server.mjs"), marks)
	if got := session.InitializeResult().ProtocolVersion; got != "2026-07-28" {
		t.Fatalf("the server speaks %s", got)
	}
	if text, failed := s.call(session, "note", map[string]any{"text": "a"}); failed || text != "note: a" {
		t.Errorf("an allowed call: %s", text)
	}
	if text, failed := s.call(session, "erase", map[string]any{"text": "a"}); !failed || !strings.Contains(text, "mcp.allowed_tools") || exists(filepath.Join(marks, "erase")) {
		t.Errorf("a denied call: %s", text)
	}
	if text, failed := s.call(session, "publish", map[string]any{"text": "b"}); failed || text != "publish: b" {
		t.Errorf("a held call: %s, after the question %q", text, question)
	}
	if marked, _ := os.ReadFile(filepath.Join(marks, "publish")); string(marked) != "b\n" {
		t.Errorf("it arrived as %q", marked)
	}
	plain := s.connect(nil, []string{"--server", "small"}, filepath.Join(s.node, "server.mjs"), marks)
	if text, failed := s.call(plain, "publish", map[string]any{"text": "c"}); !failed || !strings.Contains(text, "bailiff holds approve") {
		t.Errorf("a client that cannot show a question: %s", text)
	}
}

// TestWithoutService kills the service, and has what an agent could change in the proxy's surroundings.
func TestWithoutService(t *testing.T) {
	s := newStage(t, smallPolicy, packages, "mcp")
	marks := t.TempDir()
	script := filepath.Join(s.node, "server.mjs")
	closed := s.connect(nil, []string{"--server", "small"}, script, marks)
	open := s.connect(nil, []string{"--server", "small", "--fail-mode", "open"}, script, marks)
	late := s.connect(nil, []string{"--server", "small", "--fail-mode", "open"}, script, marks)
	for _, session := range []*mcp.ClientSession{closed, open} {
		if text, failed := s.call(session, "note", map[string]any{"text": "a"}); failed {
			t.Fatalf("with the service: %s", text)
		}
	}
	if err := os.Remove(filepath.Join(marks, "note")); err != nil {
		t.Fatal(err)
	}
	if err := s.service.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.service.Wait()
	if text, failed := s.call(closed, "note", map[string]any{"text": "a"}); !failed || !strings.Contains(text, "MCP_SERVICE_UNREACHABLE") || exists(filepath.Join(marks, "note")) {
		t.Errorf("closed: %s", text)
	}
	if text, failed := s.call(late, "note", map[string]any{"text": "a"}); !failed || !strings.Contains(text, "MCP_PINS_UNAVAILABLE") || exists(filepath.Join(marks, "note")) {
		t.Errorf("open, and no pin was read: %s", text)
	}
	result, err := open.CallTool(t.Context(), &mcp.CallToolParams{Name: "note", Arguments: map[string]any{"text": "a"}})
	if err != nil || result.IsError || !exists(filepath.Join(marks, "note")) {
		t.Fatalf("open: %+v %v", result, err)
	}
	if tag, _ := result.Meta["bailiff/decision"].(map[string]any); tag["failOpen"] != true {
		t.Errorf("open: _meta is %v", result.Meta)
	}
	if text, failed := s.call(open, "no_such", nil); !failed {
		t.Errorf("open, a tool that is not listed: %s", text)
	}
}
