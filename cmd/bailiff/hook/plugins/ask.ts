// Asks `bailiff hook` about a tool call. The command has the one table of what a tool is asked as, and its configuration
// (docs/clients.md, "Coding agents"). The host's settings can have its command line; without, BAILIFF names it where it is not
// in PATH.

import { spawn } from 'node:child_process'

/** What a host says of a call. The signal ends the question where the host gives the call up. */
export type Call = { event: string; tool: string; input: unknown; session?: string; id?: string; cwd?: string; signal?: AbortSignal }

/** How long a host has to wait for an answer, in milliseconds; the command may take `longest`, and answers sooner by itself. */
export const patience = 60_000
const longest = patience - 10_000

/** How much the command may print, in characters; its answers are a few thousand. */
const most = 1 << 20

/** The ids that were asked for, with how often; the oldest go first. */
const asked = new Map<string, number>()
const remembered = 10_000

/**
 * An id that no other call of this process has. The service gives one id one answer and counts it once, and some models
 * give several calls the same id.
 */
function unique(call: Call): string | undefined {
  if (!call.id) return undefined
  const key = JSON.stringify([call.session, call.id])
  const before = asked.get(key) ?? 0
  asked.delete(key)
  asked.set(key, before + 1)
  for (const oldest of asked.keys()) {
    if (asked.size <= remembered) break
    asked.delete(oldest)
  }
  return before === 0 ? call.id : `${call.id}~${before}`
}

/** The command line that a host's settings have, or the usual one; anything but a list of texts is refused. */
function commandLine(adapter: string, configured: unknown): string[] {
  if (configured === undefined) return [process.env['BAILIFF'] || 'bailiff', 'hook', '--adapter', adapter]
  if (Array.isArray(configured) && configured.length > 0 && configured.every((word) => typeof word === 'string')) return configured
  throw new Error('the settings of the plugin have a command that is not a list of words')
}

/**
 * Resolves with why a call must not run, or with undefined where it may. All but the one answer that allows is a denial. The
 * command is what the settings of the plugin have, as it is there.
 */
export async function ask(adapter: string, call: Call, command?: unknown): Promise<string | undefined> {
  try {
    return await judge(commandLine(adapter, command), JSON.stringify({
      hook_event_name: call.event, tool_name: call.tool, tool_input: call.input, session_id: call.session, tool_use_id: unique(call), cwd: call.cwd,
    }), call.signal)
  } catch (error) {
    return `bailiff hook cannot be asked: ${String(error)}`
  }
}

/** Runs the command with an event. */
function judge([program, ...words]: string[], event: string, signal?: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(program ?? '', words, { signal, killSignal: 'SIGKILL', windowsHide: true })
    let out = ''
    let said = ''
    // Denied at once: a program that the command has started may keep its output open after its end.
    const stop = (why: string) => {
      clearTimeout(timer)
      resolve(why)
      child.kill('SIGKILL')
    }
    const timer = setTimeout(() => stop(`bailiff hook did not answer within ${longest / 1000} s`), longest)
    const bounded = (text: string) => {
      if (text.length > most) stop('bailiff hook answered with more than 1 MiB')
      return text
    }
    child.stdout.setEncoding('utf8').on('data', (part: string) => { out = bounded(out + part) })
    child.stderr.setEncoding('utf8').on('data', (part: string) => { said = bounded(said + part) })
    child.stdin.on('error', () => {}) // its end says more
    child.on('error', (error: Error) => stop(`bailiff hook cannot be run: ${error.message}`))
    child.on('close', (code: number | null) => {
      clearTimeout(timer)
      resolve(denial(code, out, said))
    })
    child.stdin.end(event)
  })
}

/** Reads an answer: why it denies, or undefined where it allows. */
function denial(code: number | null, out: string, said: string): string | undefined {
  let answer: unknown
  try {
    answer = code === 0 ? JSON.parse(out) : undefined
  } catch {
    answer = undefined
  }
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return said.trim() || 'bailiff hook gave no answer'
  if (Object.keys(answer).length === 0) return undefined
  const { reason } = answer as { reason?: unknown }
  return typeof reason === 'string' && reason !== '' ? reason : 'denied by bailiff'
}
