// A plugin of OpenCode: each tool call is asked for, and does not run unless it is allowed. docs/hooks.md says how it is set up.

import { ask } from './ask.ts'

type Input = { tool: string; sessionID: string; callID: string }

/** The plugin. A call is denied by throwing. It is the one export: OpenCode calls all that a plugin exports. */
export const Bailiff = async ({ directory }: { directory: string }, options?: { command?: unknown }) => ({
  'tool.execute.before': async (input: Input, output: { args: unknown }) => {
    const denied = await ask('opencode', {
      event: 'tool.execute.before', tool: input.tool, input: output.args, session: input.sessionID, id: input.callID, cwd: directory,
    }, options?.command)
    if (denied !== undefined) throw new Error(denied)
  },
})
