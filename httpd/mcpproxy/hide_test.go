package mcpproxy

import (
	"strings"
	"testing"
	"time"

	"bailiff/httpd/client"
)

// TestHideDenied filters a list: what the policy denies by name, what has changed and what no policy can tell from a
// method is left out; what is denied for its arguments, or held, is shown.
func TestHideDenied(t *testing.T) {
	w := newWorld(t)
	w.g.HideDenied = true
	w.decides = func(i *Intent) Decision {
		rule := map[string]string{"mcp.files.blocked": "mcp.blocked_tools", "mcp.files.unlisted": "mcp.allowed_tools", "mcp.files.custom": "custom.allow_only.metadata.arguments.path"}[i.Action]
		switch {
		case rule != "":
			return Decision{Status: statusDenied, Rule: rule, Code: "SVC_X", PolicyHash: "p"}
		case i.Action == "mcp.files.held":
			return Decision{Status: statusPending, PolicyHash: "p"}
		}
		return allowed(i)
	}
	w.store.pins["changed"] = client.Pin{Name: "changed", SHA256: "before"}
	list := `{"tools":[{"name":"custom"},{"name":"blocked"},{"name":"held", "x":1.0},{"name":"unlisted"},{"name":"changed"},{"name":"tasks.get"},{"name":"free"}],"nextCursor":"c","ttlMs":3600000,"cacheScope":"public"}`
	show := func(id, meta string) string {
		w.client(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/list","params":{` + meta + `}}`)
		c, _ := w.server(`{"jsonrpc":"2.0","id":` + id + `,"result":` + list + `}`)
		return c
	}
	want := `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"custom"},{"name":"held", "x":1.0},{"name":"free"}],"nextCursor":"c","ttlMs":3600000,"cacheScope":"public"}}`
	if got := show("1", ""); got != want {
		t.Errorf("shown\n%s, not\n%s", got, want)
	}
	got := show("2", `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`)
	if !strings.Contains(got, `"ttlMs":60000,"cacheScope":"private"`) {
		t.Errorf("a filtered list may be shared: %s", got)
	}
	asked := len(w.asked)
	if show("3", ""); len(w.asked) != asked {
		t.Errorf("%d questions for a list that was filtered a moment ago", len(w.asked)-asked)
	}
	later := w.g.Now().Add(hideAge)
	w.g.Now = func() time.Time { return later }
	if show("4", ""); len(w.asked) == asked {
		t.Error("decisions are used for longer than they may")
	}
}

// TestHideWithoutDecision shows no list where the service does not decide.
func TestHideWithoutDecision(t *testing.T) {
	for name, d := range map[string]Decision{
		"unreachable":      {Unreachable: true},
		"no policy":        {Status: statusDenied, Code: "SVC_NO_POLICY_DEPLOYED"},
		"too many":         {Status: statusDenied, Code: "SVC_RATE_LIMITED"},
		"a key of nothing": {Status: statusDenied, Code: "SVC_API_KEY_INVALID"},
	} {
		w := newWorld(t)
		w.g.HideDenied = true
		w.decides = func(*Intent) Decision { return d }
		w.client(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		c, _ := w.server(`{"jsonrpc":"2.0","id":1,"result":` + w.tools + `}`)
		if !strings.Contains(c, `"error"`) || strings.Contains(c, `"read"`) {
			t.Errorf("%s: %s", name, c)
		}
	}
}

// TestHiddenIsStillJudged has a tool that joins after the list was filtered.
func TestHiddenIsStillJudged(t *testing.T) {
	w := newWorld(t)
	w.g.HideDenied = true
	w.decides = func(*Intent) Decision { return Decision{Status: statusDenied, Code: "SVC_X", PolicyHash: "p"} }
	if v := w.client(call(1, "read", `{}`)); v.forward != nil {
		t.Error("a call is not judged because the list is filtered")
	}
}
