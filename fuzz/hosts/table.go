package hosts

// The packages in which rules were read.
var (
	claudeCode = Source{Package: "@anthropic-ai/claude-code-linux-x64", Version: "2.1.330", File: "claude"}
	codexCLI   = Source{Package: "@openai/codex", Version: "0.169.0-linux-x64", File: "vendor/x86_64-unknown-linux-musl/bin/codex"}
	geminiCLI  = Source{Package: "@google/gemini-cli-core", Version: "0.61.0", File: "dist/src/hooks/hookRunner.js"}
	copilotCLI = Source{Package: "@github/copilot-linux-x64", Version: "1.0.102", File: "copilot!package/prebuilds/linux-x64/runtime.node"}
	unproved   = Source{}
)

// at is the place in s that contains key.
func (s Source) at(key string) Source {
	s.Key = key
	return s
}

// in is the same package's file.
func (s Source) in(file string) Source {
	s.File = file
	return s
}

// Hosts is the table of hosts.
var Hosts = []Host{
	{
		Name: "claude-code", Title: "Claude Code", Switch: `onFailure: "block"`,
		Waits: claudeCode.at(`var Wp=600000,NYa=["SessionStart","Setup"]`),
		Rules: []Rule{
			{"no answer in time", timedOut, Fails, claudeCode.at("it could not start (a missing script or plugin directory), timed out")},
			{"not started", notStarted, Fails, claudeCode.at("Hook command failed to spawn (")},
			{"exit 2", exitsTwo, Stops, claudeCode.at("the failure counts as exit code 2, so the action the event guards (a tool call")},
			{"a valid denial, whatever the exit code", claudeDenies, Stops, claudeCode.at(`permissionDecision:'"allow" | "deny" | "ask" | "defer" (optional)'`)},
			{"JSON that is broken or fails validation", claudeInvalid, Fails, claudeCode.at("Hook output looks like a JSON object but is not valid JSON")},
			{"another exit code, or a signal", exitsNotZero, Fails, claudeCode.at("exited with a code other than 0 or 2")},
			{"exit 0 with no denial, plain text included", always, Runs, claudeCode.at("Hook output does not start with {, treating as plain text")},
		},
	},
	{
		Name: "codex", Title: "Codex CLI",
		Rules: []Rule{
			{"no answer in time", timedOut, Runs, codexCLI.at("hook timed out after ")},
			{"the event not read to its end, whatever was answered", unread, Runs, codexCLI.at("failed to write hook stdin: ")},
			{"ended by a signal, or not started", killed, Runs, codexCLI.at("hook process terminated without an exit code")},
			{"exit 2 with text on standard error", codexBlocks, Stops, codexCLI.at("PreToolUse hook exited with code 2 but did not write a blocking reason to stderr")},
			{"another exit code, exit 2 in silence included", exitsNotZero, Runs, codexCLI.at("hook exited with code ")},
			{"a valid denial with a reason", codexDenies, Stops, codexCLI.at("permissionDecision:deny without a non-empty permissionDecisionReason")},
			{"exit 0 with anything else, a denial beside an unknown key included", always, Runs, codexCLI.at("hook returned invalid pre-tool-use JSON output")},
		},
	},
	{
		Name: "gemini", Title: "Gemini CLI",
		Waits: geminiCLI.at("const DEFAULT_HOOK_TIMEOUT = 60000;"),
		Rules: []Rule{
			{"no answer in time, whatever was written", timedOut, Runs, geminiCLI.at("Hook timed out after ${timeout}ms")},
			{"no output, whatever the exit code", geminiSilent, Runs, geminiCLI.at("if (textToParse) {")},
			{"a denial in JSON, whatever the exit code", geminiDenies, Stops, geminiCLI.in("dist/src/hooks/types.js").at("this.decision === 'block' || this.decision === 'deny'")},
			{"other JSON, whatever the exit code", geminiReadsJSON, Runs, geminiCLI.at("stdout.trim() || stderr.trim()")},
			{"text with an exit code above 1", geminiBlocks, Stops, geminiCLI.at("All other non-zero exit codes (including 2) are blocking")},
			{"text with exit 0, exit 1 or a signal", always, Runs, geminiCLI.at("exitCode || EXIT_CODE_SUCCESS")},
		},
	},
	{
		Name: "cursor", Title: "Cursor", Switch: "failClosed: true",
		Rules: []Rule{
			{"no answer in time", timedOut, Fails, unproved},
			{"exit 2", exitsTwo, Stops, unproved},
			{"another exit code, or a signal", exitsNotZero, Fails, unproved},
			{"a denial", cursorDenies, Stops, unproved},
			{"output that is not one JSON object", notJSON, Fails, unproved},
			{"exit 0 with no denial", always, Runs, unproved},
		},
	},
	{
		Name: "copilot", Title: "GitHub Copilot CLI",
		Rules: []Rule{
			{"no answer in time", timedOut, Runs, copilotCLI.at(" timed out; allowing the tool call to proceed: ")},
			{"any exit code but 0, or a signal", exitsNotZero, Stops, copilotCLI.at("Denied by preToolUse hook (hook errored)")},
			{"a denial", copilotDenies, Stops, copilotCLI.at("permissionDecisionReasonNo reason provided")},
			{"exit 0 with no denial, or with two objects", always, Runs, unproved},
		},
	},
	{
		Name: "windsurf", Title: "Windsurf",
		Rules: []Rule{
			{"no answer in time", timedOut, Runs, unproved},
			{"exit 2", exitsTwo, Stops, unproved},
			{"anything else", always, Runs, unproved},
		},
	},
	{
		Name: "hermes", Title: "Hermes", Switch: "fail_closed: true",
		Rules: []Rule{
			{"no answer in time", timedOut, Fails, unproved},
			{"exit 2", exitsTwo, Stops, unproved},
			{"another exit code, or a signal", exitsNotZero, Fails, unproved},
			{"a denial", hermesDenies, Stops, unproved},
			{"output that is not one JSON object", notJSON, Fails, unproved},
			{"exit 0 with no denial", always, Runs, unproved},
		},
	},
}
