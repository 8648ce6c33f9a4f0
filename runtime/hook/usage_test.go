package hook

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestReadUsage adds up transcripts.
func TestReadUsage(t *testing.T) {
	claude := func(id string, in, out int) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"id":%q,"model":"claude","usage":{"input_tokens":%d,"cache_creation_input_tokens":1,"cache_read_input_tokens":1,"output_tokens":%d}}}`+"\n", id, in, out)
	}
	codex := func(in, out int) string {
		return fmt.Sprintf(`{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":%d,"output_tokens":%d,"total_tokens":%d}}}}`+"\n", in, out, in+out)
	}
	user := `{"type":"user","message":{"content":"say \"usage\": {\"output_tokens\": 9}"}}` + "\n"
	for _, row := range []struct{ host, text, want string }{
		{ClaudeCode, "", `{"provider":"anthropic","input_tokens":0,"output_tokens":0,"total_tokens":0}`},
		{ClaudeCode, user + claude("a", 10, 1) + claude("a", 10, 5) + claude("b", 20, 2), `{"provider":"anthropic","model":"claude","input_tokens":34,"output_tokens":7,"total_tokens":41}`},
		{ClaudeCode, claude("", 1, 1) + claude("", 1, 1), `{"provider":"anthropic","model":"claude","input_tokens":6,"output_tokens":2,"total_tokens":8}`},
		{ClaudeCode, claude("a", 1, 1) + strings.TrimSuffix(claude("b", 1, 1), "\n"), `{"provider":"anthropic","model":"claude","input_tokens":3,"output_tokens":1,"total_tokens":4}`},
		{ClaudeCode, claude("a", 1, -1), "error"}, {ClaudeCode, `{"usage": x` + "\n", "error"},
		{ClaudeCode, `{"type":"assistant","message":{"usage":{"output_tokens":1.5}}}` + "\n", "error"},
		{ClaudeCode, strings.Repeat(" ", 300<<10) + claude("a", 1, 1), `{"provider":"anthropic","model":"claude","input_tokens":3,"output_tokens":1,"total_tokens":4}`},
		{Codex, `{"type":"turn_context","payload":{"model":"gpt"}}` + "\n" + codex(10, 1) + codex(30, 4) + codex(5, 1), `{"provider":"openai","model":"gpt","input_tokens":30,"output_tokens":4,"total_tokens":34}`},
	} {
		got := "error"
		if used, err := ReadUsage(row.host, strings.NewReader(row.text)); err == nil {
			got = string(used.json())
		}
		if got != row.want {
			t.Errorf("%s %.80q: %s, want %s", row.host, row.text, got, row.want)
		}
	}
	endless := io.MultiReader(strings.NewReader(strings.Repeat("x", MaxTranscript)), strings.NewReader("\n\n"))
	if _, err := ReadUsage(Codex, endless); err == nil {
		t.Error("a transcript of more than 64 MiB is read")
	}
}
