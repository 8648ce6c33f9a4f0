package hosts

// The packages of hosts that have plugins in place of hooks.
var (
	openCode = Source{Package: "opencode-linux-x64", Version: "1.18.33", File: "bin/opencode"}
	openClaw = Source{Package: "openclaw", Version: "2026.9.6", File: "docs/plugins/hooks/tool-policy.md"}
)

// Plugins is the table of hosts that have plugins. The fake hosts that play them are beside the plugins' tests, on Node: a
// rule here says what the host does, and where that was read.
var Plugins = []Host{
	{
		Name: "opencode", Title: "OpenCode",
		Rules: []Rule{
			{"`--pure`, with which no plugin is loaded", always, Runs, openCode.at("let A=Q.pure?[]:w.plugin_origins")},
			{"a plugin that cannot be loaded", always, Runs, openCode.at("failed to load plugin")},
			{"a plugin that throws", always, Stops, openCode.at("yield*v.promise(async()=>M(K,U))")},
			{"a plugin that returns", always, Runs, openCode.at(`yield*i.trigger("tool.execute.before",{tool:k.id,sessionID:H.sessionID,callID:H.callID},{args:b});let a=yield*k.execute(b,H)`)},
		},
	},
	{
		Name: "openclaw", Title: "OpenClaw",
		Rules: []Rule{
			{"a plugin whose folder is missing", always, Runs, openClaw.in("dist/discovery-D_5mAUI7.mjs").at("Configured plugin load path is unavailable: ")},
			{"a plugin that cannot be loaded, in the gateway", always, Runs, openClaw.in("dist/server-plugins-D1oTNUF5.mjs").at(`throwOnLoadError: params.loadIntent === "replacement"`)},
			{"a plugin that cannot be loaded, in `openclaw agent --local`", always, Stops, openClaw.in("dist/plugin-registry-D65FA-1q.mjs").at("throwOnLoadError: true")},
			{"a plugin that throws, or is longer than its time (15 s, or `timeoutMs`)", always, Stops, openClaw.in("dist/hook-runner-global-C81Znoo2.mjs").at(`before_tool_call: "fail-closed"`)},
			{"an answer with `block: true`", always, Stops, openClaw.at("`block: true` is terminal and skips lower-priority handlers.")},
			{"an answer without", always, Runs, openClaw.at("`block: false` is treated as no decision.")},
		},
	},
}
