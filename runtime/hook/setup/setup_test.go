package setup

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"bailiff/fuzz/kit/seed"
)

// optionsFor is what an installation asks for.
func optionsFor(h *Host) Options {
	return Options{Command: []string{"/opt/my tools/bailiff", "hook", "--adapter", h.Name, "--api-key-file", "/etc/it's"}, Timeout: 30 * time.Second, Closed: true, Folder: "/home/ann/a b/bailiff-plugin"}
}

// TestSettings shows what installing and uninstalling make of settings files.
func TestSettings(t *testing.T) {
	datadriven.Walk(t, "testdata/settings", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			name := strings.TrimSuffix(filepath.Base(path), ".txt")
			h, text := Find(name), []byte(d.Input)
			if d.HasArg("crlf") {
				text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
			}
			o := optionsFor(h)
			if d.HasArg("http") {
				o.URL, o.KeyVariable = "http://127.0.0.1:8787", "SVC_API_KEY"
			}
			if d.HasArg("open") {
				o.Closed = false
			}
			var err error
			switch d.Cmd {
			case "install":
				if text, err = h.Install(text, o); err == nil {
					again, err := h.Install(text, o)
					if err != nil || !bytes.Equal(text, again) {
						t.Errorf("%s: installing again changes the file: %s %v", d.Pos, again, err)
					}
				}
			case "uninstall":
				text, err = h.Uninstall(text)
			case "hooks":
				hooks, failed := h.Hooks(text)
				if err = failed; failed == nil {
					text = nil
					for _, hook := range hooks {
						line, _ := json.Marshal(hook)
						text = append(append(text, line...), '\n')
					}
				}
			}
			if err != nil {
				return "error: " + err.Error() + "\n"
			}
			return strings.ReplaceAll(string(text), "\r", "<CR>")
		})
	})
}

// TestRestores holds that uninstalling undoes installing byte for byte, and that nothing else changes in between, in files that
// people and programs write.
func TestRestores(t *testing.T) {
	random := rand.New(rand.NewPCG(uint64(seed.Value(t)), 0))
	for i := range allHosts() {
		h := allHosts()[i]
		for range 300 {
			text := randomSettings(random, &h)
			installed, err := h.Install([]byte(text), optionsFor(&h))
			if err != nil {
				t.Fatalf("%s: %v\n%s", h.Name, err, text)
			}
			if hooks, _ := h.Hooks(installed); !h.installed(hooks, optionsFor(&h)) {
				t.Fatalf("%s: it is not installed\n%s", h.Name, installed)
			}
			restored, err := h.Uninstall(installed)
			if err != nil || string(restored) != text {
				t.Fatalf("%s: %v\n%q\nbecame\n%q\nby way of\n%s", h.Name, err, text, restored, installed)
			}
		}
	}
}

// randomSettings writes a settings file in one of many layouts. It has no empty list of hooks, and is not empty: what was there
// before then is what the record of the installation is for.
func randomSettings(random *rand.Rand, h *Host) string {
	switch {
	case h.form == yamlForm:
		return randomYAML(random)
	case h.plugin != nil:
		return randomPlugins(random, h)
	}
	indent := []string{"  ", "\t", "    ", ""}[random.IntN(4)]
	newline := []string{"\n", "\r\n"}[random.IntN(2)]
	comment := ""
	if h.form == jsoncForm && indent != "" && random.IntN(2) == 0 {
		comment = " // a comment { [ \"" + newline
	}
	if indent == "" {
		newline = ""
	}
	event := h.Events[random.IntN(len(h.Events))]
	other := `{"matcher": "Bash", "hooks": [{"type": "command", "command": "lint"}]}`
	var members []string
	if random.IntN(2) == 0 {
		members = append(members, `"model": "opus", "x": {"a": [1, 2.50, 1e3],   "b": null}`)
	}
	switch random.IntN(4) {
	case 0:
		members = append(members, `"hooks": {"PostToolUse": [`+other+`]}`)
	case 1:
		members = append(members, `"hooks": {`+newline+indent+indent+`"`+event+`": [`+newline+indent+indent+indent+other+newline+indent+indent+"]"+newline+indent+"}")
	case 2:
		members = append(members, `"hooks": {"`+event+`": [`+other+`,`+other+`]}`)
	}
	if len(members) == 0 {
		members = append(members, `"version": 1`)
	}
	text := "{" + comment
	for i, member := range members {
		if i > 0 {
			text += ","
		}
		text += newline + indent + member
	}
	return text + newline + "}" + []string{"", "\n", "\n\n"}[random.IntN(3)]
}

// randomPlugins writes a settings file of a host with plugins.
func randomPlugins(random *rand.Rand, h *Host) string {
	newline := []string{"\n", "\r\n", "\r\n\t", "\n    ", ""}[random.IntN(5)]
	comma, comment := "", ""
	if newline != "" && random.IntN(2) == 0 {
		comma, comment = ",", " // a comment ] [ \""
	}
	elements := []string{`"a"`, `"/x/bailiff"`, `"b", "c"`}[random.IntN(3)] + comma + comment
	member := `"model": "m"`
	switch {
	case h.Name == "opencode" && random.IntN(2) == 0:
		member += `,` + newline + `"plugin": [` + newline + `["x", {"command": ["y"]}], ` + elements + newline + `]`
	case random.IntN(2) == 0:
		member += `,` + newline + `"plugins": {"load": {"paths": [` + elements + newline + `]}}`
	case random.IntN(2) == 0:
		member += `,` + newline + `"plugins": {` + newline + `"entries": {"other": {"enabled": true}}` + comma + newline + `}`
	}
	return "{" + newline + member + comma + newline + "}\n"
}

func randomYAML(random *rand.Rand) string {
	newline := []string{"\n", "\r\n"}[random.IntN(2)]
	lines := []string{"# settings", "model: opus  # the best", "list: [1, 2]", "text: |", "  hooks:", "    pre_tool_call: x"}
	dash := []string{"    ", "  "}[random.IntN(2)]
	switch random.IntN(4) {
	case 0:
		lines = append(lines, "hooks:", "  # before", "  post_tool_call:", dash+"- command: \"lint\"")
	case 1:
		lines = append(lines, "hooks:", "  pre_tool_call:", dash+"- matcher: terminal", dash+"  command: lint # it", "  on_end:", "  - command: x")
	case 2:
		lines = append([]string{"hooks:", "  pre_tool_call:", dash + "- command: lint"}, lines...)
	}
	return strings.Join(lines, newline) + newline
}

// TestKeeps shows that an edit which changes something else is noticed.
func TestKeeps(t *testing.T) {
	h := Find("claude-code")
	before, err := h.parse([]byte(`{"a": 1, "hooks": {"PreToolUse": [{"matcher": "x", "hooks": []}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, edited := range []string{
		`{"a": 2, "hooks": {"PreToolUse": [{"matcher": "x", "hooks": []}]}}`,
		`{"a": 1, "hooks": {"PreToolUse": [{"matcher": "y", "hooks": []}]}}`,
		`{"a": 1, "hooks": {"PostToolUse": [{"matcher": "x", "hooks": []}]}}`,
		`{"a": 1}`, `{"a": 1`,
	} {
		if h.keeps(before, []byte(edited)) == nil {
			t.Errorf("%s: nothing was noticed", edited)
		}
	}
}

// TestSwitchedOff finds every setting that switches hooks off, and nothing in other settings.
func TestSwitchedOff(t *testing.T) {
	for _, row := range []struct{ host, text, want string }{
		{"claude-code", `{"disableAllHooks": true}`, "disableAllHooks: true"},
		{"claude-code", `{"disableAllHooks": true, /* all */ }`, "disableAllHooks: true"},
		{"claude-code", `{"disableAllHooks": false, "hooks": {}}`, ""},
		{"claude-code", ``, ""},
		{"gemini", `{"hooksConfig": {"enabled": false}}`, "hooksConfig.enabled: false"},
		{"gemini", `{"hooksConfig": {"disabled": ["x", "bailiff"]}}`, "hooksConfig.disabled: [x bailiff]"},
		{"gemini", `{"hooksConfig": {"disabled": ["x"], "enabled": true}}`, ""},
		{"copilot", `{"disableAllHooks": true}`, "disableAllHooks: true"},
		{"hermes", `disableAllHooks: true`, ""},
		{"openclaw", `{"plugins": {"enabled": false}}`, "plugins.enabled: false"},
		{"openclaw", `{"plugins": {"deny": ["bailiff"]}} /* mine */`, "plugins.deny: [bailiff]"},
		{"openclaw", `{"plugins": {"entries": {"bailiff": {"enabled": false}}}}`, "plugins.entries.bailiff.enabled: false"},
		{"openclaw", `{"plugins": {"allow": ["telegram"]}}`, "plugins.allow: [telegram], without bailiff"},
		{"openclaw", `{"plugins": {"allow": ["telegram", "bailiff"], "enabled": true, "deny": ["x"]}}`, ""},
		{"openclaw", `{"plugins": {"allow": []}}`, ""},
	} {
		if got, err := Find(row.host).SwitchedOff([]byte(row.text)); got != row.want || err != nil {
			t.Errorf("%s %s: %q %v, want %q", row.host, row.text, got, err, row.want)
		}
	}
}

// TestWords holds that what is joined is split again, and that a shell would read it so.
func TestWords(t *testing.T) {
	for _, words := range [][]string{{"a"}, {"a b", "c'd", `e"f\g`, "", "$HOME", "a\nb"}, {"/x/bailiff", "hook", "--adapter", "codex"}} {
		if got := splitWords(joinWords(words)); strings.Join(got, "\x00") != strings.Join(words, "\x00") {
			t.Errorf("%q became %q", words, got)
		}
	}
}

// FuzzInstall holds that no file makes the editing panic, that what it returns is idempotent, and that it can be undone.
func FuzzInstall(f *testing.F) {
	names, _ := filepath.Glob("testdata/settings/*.txt")
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for part := range strings.SplitSeq(string(text), "----") {
			_, body, _ := strings.Cut(part, "\n")
			f.Add(uint8(len(name)), []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		h := allHosts()[int(which)%len(allHosts())]
		installed, err := h.Install(text, optionsFor(&h))
		if err != nil {
			return
		}
		if again, err := h.Install(installed, optionsFor(&h)); err != nil || !bytes.Equal(again, installed) {
			t.Fatalf("installing again: %v\n%s", err, again)
		}
		without, err := h.Uninstall(installed)
		if err != nil {
			t.Fatalf("uninstalling: %v", err)
		}
		if hooks, err := h.Hooks(without); err != nil || len(hooks) > 0 && hooks[0].Ours {
			t.Fatalf("%v: still there: %s", err, without)
		}
	})
}

// TestPluginPlaces: a host's variables move its settings, and its plugin with them.
func TestPluginPlaces(t *testing.T) {
	for _, row := range []struct{ host, name, value, want string }{
		{"opencode", "", "", "/home/ann/.config/opencode/opencode.json"},
		{"opencode", "XDG_CONFIG_HOME", "/x", "/x/opencode/opencode.json"},
		{"openclaw", "", "", "/home/ann/.openclaw/openclaw.json"},
		{"openclaw", "OPENCLAW_STATE_DIR", "~/y", "/home/ann/y/openclaw.json"},
		{"openclaw", "OPENCLAW_CONFIG_PATH", "/z/a.json", "/z/a.json"},
		{"claude-code", "CLAUDE_CONFIG_DIR", "/c", "/c/settings.json"},
	} {
		h := Find(row.host)
		got := h.Path(User, "/home/ann", "/work", func(name string) string { return map[string]string{row.name: row.value}[name] })
		if got != row.want {
			t.Errorf("%s with %s=%s: %s, want %s", row.host, row.name, row.value, got, row.want)
		}
		if folder := h.PluginFolder(got); (folder == "") != (row.host == "claude-code") || folder != "" && folder != filepath.Dir(got)+"/bailiff-plugin" {
			t.Errorf("%s: the plugin is in %q", row.host, folder)
		}
	}
	h := Find("opencode")
	for text, want := range map[string]bool{`{"plugin": []}`: true, `{"model": "x"} /* no plugin */`: false, `{`: true} {
		if h.Replaces([]byte(text)) != want {
			t.Errorf("%s: replaces the list: %v", text, !want)
		}
	}
}

// TestPluginKeeps shows that an edit which changes another plugin is noticed.
func TestPluginKeeps(t *testing.T) {
	for name, rows := range map[string][]string{
		"opencode": {`{"plugin": ["a", "b"]}`, `{"plugin": ["b", "a"]}`, `{"plugin": ["a"]}`, `{"plugin": ["a", "b"], "x": 1}`, `{`},
		"openclaw": {`{"plugins": {"entries": {"x": {}}, "allow": []}}`, `{"plugins": {"entries": {"x": {"enabled": true}}, "allow": []}}`, `{"plugins": {"allow": []}}`, `{}`},
	} {
		h := Find(name)
		before, err := h.parse([]byte(rows[0]))
		if err != nil {
			t.Fatal(err)
		}
		for _, edited := range rows[1:] {
			if h.keepsPlugins(before, []byte(edited)) == nil {
				t.Errorf("%s, %s: nothing was noticed", name, edited)
			}
		}
	}
}

// TestHTTPLimits: what in a host's settings keeps its HTTP hook, or the key, from the service is found.
func TestHTTPLimits(t *testing.T) {
	const local = "http://127.0.0.1:8787"
	for _, row := range []struct{ files, env, address, want string }{
		{`{}`, "", local, ""},
		{`{}`, "", "http://10.1.2.3:8787", ""},
		{`{}`, "", "http://169.254.169.254", "link-local or reserved address"},
		{`{}`, "", "http://[fe80::1]:8787", "link-local or reserved address"},
		{`{"allowedHttpHookUrls": ["https://x/*"]}`, "", local, "allowedHttpHookUrls in the settings is https://x/*"},
		{`{"allowedHttpHookUrls": []}`, "", local, "allowedHttpHookUrls"},
		{`{"allowedHttpHookUrls": ["https://x/*"]} {"allowedHttpHookUrls": ["http://127.0.0.1:*/v1/*"]}`, "", local, ""},
		{`{"allowedHttpHookUrls": ["http://127x0.0.1:*"]}`, "", local, "allowedHttpHookUrls"},
		{`{"httpHookAllowedEnvVars": ["TOKEN"]}`, "", local, "httpHookAllowedEnvVars in the settings is TOKEN, without SVC_API_KEY"},
		{`{"httpHookAllowedEnvVars": ["TOKEN", "SVC_API_KEY"]}`, "", local, ""},
		{`{"env": {"CLAUDE_CODE_SUBPROCESS_ENV_SCRUB": "1"}}`, "", local, "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB=1 has the host withhold"},
		{`{"env": {"CLAUDE_CODE_SUBPROCESS_ENV_SCRUB": "0"}}`, "", local, ""},
		{`{}`, "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB=true", local, "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB=true"},
		{`{}`, "GITHUB_ACTIONS=true", local, "GITHUB_ACTIONS has the host withhold"},
	} {
		var limits HTTPLimits
		for text := range strings.SplitSeq(row.files, "} {") {
			if !strings.HasPrefix(text, "{") {
				text = "{" + text
			}
			if !strings.HasSuffix(text, "}") {
				text += "}"
			}
			one, err := Find("claude-code").HTTPLimits([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			limits.Add(one)
		}
		limits.Environment(func(name string) string {
			value, _ := strings.CutPrefix(row.env, name+"=")
			return strings.TrimSuffix(value, row.env)
		})
		if got := limits.Refuses(row.address); row.want == "" && got != "" || !strings.Contains(got, row.want) {
			t.Errorf("%s, %s, %s: %q, want %q", row.files, row.env, row.address, got, row.want)
		}
	}
}
