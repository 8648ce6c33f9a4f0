// Plays OpenCode and OpenClaw around their plugins, by the rules that their packages have (docs/hooks.md). Reads calls, one
// a line, and prints what becomes of each.
import * as opencode from './opencode.js'
import * as openclaw from './openclaw.js'
import { readFileSync } from 'node:fs'

const directory = '/work/app'

// What the hosts' settings have for the plugin, where the test has settings.
const options = process.env.PLUGIN_OPTIONS && JSON.parse(process.env.PLUGIN_OPTIONS)

// OpenCode calls every export of a plugin, awaits the hooks one after the other, and does not run a call of which one throws.
const hooks = []
for (const plugin of Object.values(opencode)) {
  if (typeof plugin !== 'function') throw new TypeError('Plugin export is not a function')
  hooks.push(await plugin({ directory, worktree: '/' }, options))
}
async function playOpenCode({ tool, input, session, id }) {
  for (const hook of hooks) await hook['tool.execute.before']?.({ tool, sessionID: session, callID: id }, { args: input })
}

// OpenClaw stops a call whose handler throws, takes too long, or answers `block`.
const handlers = []
openclaw.default({
  on: (name, handle, options) => { if (name === 'before_tool_call') handlers.push([handle, options?.timeoutMs ?? 15_000]) },
  pluginConfig: options,
  runtime: { config: { current: () => 'config' }, agent: { resolveAgentWorkspaceDir: (config, agent) => {
    if (config !== 'config' || agent !== 'main') throw new Error('no such agent')
    return directory
  } } },
})
async function playOpenClaw({ tool, input, session, id, kind, agent, abort }) {
  for (const [handle, timeout] of handlers) {
    const late = new Promise((_, reject) => { setTimeout(() => reject(new Error('timed out')), timeout).unref() })
    const context = { agentId: agent ?? 'main', sessionId: session, abortSignal: abort ? AbortSignal.timeout(abort) : undefined }
    const answer = await Promise.race([handle({ toolName: tool, toolKind: kind, params: structuredClone(input), toolCallId: id }, context), late])
    if (answer?.block) throw new Error(answer.blockReason ?? 'blocked')
  }
}

for (const line of readFileSync(0, 'utf8').split('\n').filter((line) => line !== '')) {
  const call = JSON.parse(line)
  const play = call.host === 'opencode' ? playOpenCode : playOpenClaw
  await play(call).then(() => console.log(JSON.stringify({ runs: true })), (error) => console.log(JSON.stringify({ runs: false, reason: error.message })))
}
process.exit(0)
