package hook

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// heavy are events of many small parts, by what they repeat.
func heavy(size int) map[string]string {
	many := func(part func(i int) string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			b.WriteString(part(i))
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	event := func(tool, input string) string {
		return `{"hook_event_name":"PreToolUse","turn_id":"1","tool_name":"` + tool + `","tool_input":` + input + `}`
	}
	names := many(func(i int) string { return fmt.Sprintf(`"%x":1,`, i) })
	texts := many(func(i int) string { return fmt.Sprintf(`"%x",`, i) })
	long := strings.Repeat("x", size/2)
	return map[string]string{
		"codex members":          `{"hook_event_name":"PreToolUse","turn_id":"1","tool_name":"Bash","tool_input":{"command":"ls"},` + names + "}",
		"codex input":            event("Other", "{"+names+"}"),
		"codex input below":      event("Other", `{"a":{`+names+"}}"),
		"codex words":            event("shell", `{"command":[`+texts+"]}"),
		"codex numbers":          event("Other", `{"a":[`+many(func(int) string { return "1," })+"]}"),
		"codex patch":            event("apply_patch", `{"command":"`+many(func(i int) string { return fmt.Sprintf(`*** Add File: %x\n`, i) })+`"}`),
		"codex lines":            event("apply_patch", `{"command":"`+strings.Repeat(`\n`, size/2)+`"}`),
		"codex depth":            event("Other", `{"a":`+strings.Repeat("[", 9000)+strings.Repeat("]", 9000)+"}"),
		"claude-code edits":      event("MultiEdit", `{"file_path":"a","edits":[`+many(func(int) string { return `{},` })+"]}"),
		"claude-code paths":      event("Read", `{"paths":[`+texts+"]}"),
		"claude-code patterns":   event("Glob", `{"path":"`+long+`","include":[`+many(func(i int) string { return fmt.Sprintf(`"%x",`, i) })[:size/4]+`"]}`),
		"claude-code few in one": event("Glob", `{"path":"`+long+`","include":["`+strings.Join(strings.Split(strings.Repeat("a ", 200), " "), `x","`)+`"]}`),
		"gemini URLs":            strings.Replace(event("web_fetch", `{"prompt":"`+many(func(i int) string { return fmt.Sprintf(`x://%x `, i) })+`"}`), "PreToolUse", "BeforeTool", 1),
		"claude-code escapes":    event("Write", `{"file_path":"a","content":"`+strings.Repeat(`\u00e9`, size/6)+`"}`),
	}
}

// TestMemory holds what an event takes to what is taken for it from the service's budget, whatever it is made of.
func TestMemory(t *testing.T) {
	for name, text := range heavy(300_000) {
		adapter, _, _ := strings.Cut(name, " ")
		body := []byte(text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if e, err := Read(adapter, body); err == nil {
			_, _ = e.Request(testConfig)
		}
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; taken > uint64(Weight(len(body))) {
			t.Errorf("%s: %d bytes take %d, more than %d", name, len(body), taken, Weight(len(body)))
		} else {
			t.Logf("%s: %.1f", name, float64(taken)/float64(len(body)))
		}
	}
}
