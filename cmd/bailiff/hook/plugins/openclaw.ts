// A plugin of OpenClaw: each tool call is asked for, and does not run unless it is allowed. docs/hooks.md says how it is set up.

import { ask, patience } from './ask.ts'

type Event = { toolName: string; params: unknown; toolKind?: string; runId?: string; toolCallId?: string }
type Context = { agentId?: string; sessionId?: string; sessionKey?: string; abortSignal?: AbortSignal }
type Answer = { block: true; blockReason: string } | undefined
type API = {
  on(name: 'before_tool_call', handle: (event: Event, context?: Context) => Promise<Answer>, options: { timeoutMs: number }): void
  pluginConfig?: { command?: unknown }
  runtime?: { config: { current(): unknown }; agent: { resolveAgentWorkspaceDir(config: unknown, agent: string): string } }
}

/** The folder in which an agent works. Where it is not known none is sent: that of the gateway would be another one. */
function workspace(api: API, agent?: string): string | undefined {
  if (!agent) return undefined
  try {
    return api.runtime?.agent.resolveAgentWorkspaceDir(api.runtime.config.current(), agent)
  } catch {
    return undefined
  }
}

/** Registers the plugin. */
export default function register(api: API): void {
  const judge = async (event: Event, context?: Context): Promise<Answer> => {
    const denied = await ask('openclaw', {
      // A kind tells tools apart that share a name: exec is a shell, and of the kind code_mode_exec a program in JavaScript.
      event: 'before_tool_call', tool: event.toolKind ?? event.toolName, input: event.params, id: event.toolCallId,
      session: context?.sessionId ?? context?.sessionKey ?? event.runId, cwd: workspace(api, context?.agentId), signal: context?.abortSignal,
    }, api.pluginConfig?.command)
    return denied === undefined ? undefined : { block: true, blockReason: denied }
  }
  api.on('before_tool_call', judge, { timeoutMs: patience })
}
