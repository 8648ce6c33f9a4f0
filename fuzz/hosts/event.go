package hosts

import "encoding/json"

// Event is the event by which the host asks about a shell command, as the host writes it.
func (h Host) Event(command string) []byte {
	shell := map[string]any{"command": command}
	event := map[string]map[string]any{
		"claude-code": {
			"session_id": "s1", "transcript_path": "/nonexistent/t.jsonl", "cwd": "/work", "permission_mode": "default",
			"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": shell, "tool_use_id": "toolu_1",
		},
		"codex": {
			"session_id": "s1", "turn_id": "1", "transcript_path": nil, "cwd": "/work", "permission_mode": "default", "model": "m",
			"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": shell, "tool_use_id": "call_1",
		},
		"gemini": {
			"session_id": "s1", "transcript_path": "/nonexistent/t.json", "cwd": "/work", "timestamp": "2026-11-22T10:00:00Z",
			"hook_event_name": "BeforeTool", "tool_name": "run_shell_command", "tool_input": shell,
		},
		"cursor": {
			"conversation_id": "s1", "generation_id": "g1", "workspace_roots": []string{"/work"}, "transcript_path": nil, "cwd": "/work",
			"hook_event_name": "preToolUse", "tool_name": "Shell", "tool_input": shell, "tool_use_id": "t1",
		},
		"copilot": {"sessionId": "s1", "timestamp": 1764000000000, "cwd": "/work", "toolName": "bash", "toolArgs": shell},
		"windsurf": {
			"agent_action_name": "pre_run_command", "trajectory_id": "s1", "execution_id": "e1", "timestamp": "2026-11-22T10:00:00Z",
			"tool_info": map[string]any{"command_line": command, "cwd": "/work"},
		},
		"hermes": {
			"hook_event_name": "pre_tool_call", "tool_name": "terminal", "tool_input": shell, "session_id": "s1", "cwd": "/work",
			"extra": map[string]any{"task_id": "t1", "tool_call_id": "c1"},
		},
		"opencode": {"hook_event_name": "tool.execute.before", "tool_name": "bash", "tool_input": shell, "session_id": "s1", "tool_use_id": "c1", "cwd": "/work"},
		"openclaw": {"hook_event_name": "before_tool_call", "tool_name": "exec", "tool_input": shell, "session_id": "s1", "tool_use_id": "c1", "cwd": "/work"},
	}[h.Name]
	text, err := json.Marshal(event)
	if err != nil {
		panic(err) // maps of texts and numbers
	}
	return text
}
