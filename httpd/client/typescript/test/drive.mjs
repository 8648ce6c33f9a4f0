// Drives the client for tests, as httpd/client/drive says.
import { readFileSync } from 'node:fs'
import { Bailiff, Refused, RPCError, Unreachable } from '../dist/client.js'
import { Keys, NotVerified, Once } from '../dist/verify.js'

const task = JSON.parse(readFileSync(0, 'utf8'))
const print = (value) => console.log(JSON.stringify(value))
const intent = (more) => ({ framework: 'custom', agentId: 'a-1', txCommit: task.txCommit ?? '0'.repeat(64), intent: { action: 'bash', command: 'ls' }, ...more })

function kindOf(error) {
  if (error instanceof Refused) return 'refused'
  if (error instanceof Unreachable) return 'unreachable'
  if (error instanceof NotVerified) return error.reason
  if (error instanceof RPCError) return `rpc ${error.code}`
  return `${error.name}: ${error.message}`
}

async function outcome(action) {
  try {
    return await action()
  } catch (error) {
    return kindOf(error)
  }
}

const jobs = {
  async answers() {
    const all = []
    for (let i = 0; i < task.count; i++) {
      const bailiff = new Bailiff({ url: `${task.url}/${i}`, apiKey: 'sk_svc_x', maxAnswer: 4096, timeout: 5_000 })
      all.push(await outcome(async () => (await bailiff.authorize(intent())).status))
    }
    return all
  },

  async slow() {
    const bailiff = new Bailiff({ url: task.url, apiKey: 'sk_svc_x', timeout: 1_000 })
    return outcome(async () => (await bailiff.authorize(intent())).status)
  },

  async retry() {
    const bailiff = new Bailiff({ url: task.url, apiKey: 'sk_svc_x', timeout: 5_000 })
    return outcome(async () => (await bailiff.authorize(intent(task.nonce ? { request_nonce: task.nonce } : {}))).status)
  },

  async vectors() {
    const { vectors, issuer } = JSON.parse(readFileSync(task.file, 'utf8'))
    let now = 0
    const keys = new Keys(new Bailiff({ url: task.url }), issuer, () => now)
    const all = []
    for (const vector of vectors) {
      now = vector.now
      const { policyHash, ...expect } = vector.expect ?? vectors[0].expect
      all.push(await outcome(async () => (await keys.verify(vector.token, { ...expect, policyHash: [policyHash] }), 'ok')))
    }
    return all
  },

  async cache() {
    let now = 0
    const keys = new Keys(new Bailiff({ url: task.url }), 'svc-core', () => now)
    const all = []
    for (const at of task.times) {
      now = at
      all.push(await outcome(async () => (await keys.verify('', { txCommit: 'x', policyHash: 'any' }), 'ok')))
    }
    return all
  },

  async service() {
    const bailiff = new Bailiff({ url: task.url, apiKey: task.apiKey })
    const keys = new Keys(bailiff, task.issuer)
    const once = new Once()
    const found = {}
    const allowed = await bailiff.authorize(intent({ request_nonce: 'n-1' }))
    found.allowed = allowed.status
    found.repeated = (await bailiff.authorize(intent({ request_nonce: 'n-1' }))).replayed
    const expected = { txCommit: intent().txCommit, policyHash: [allowed.policyHash] }
    const claims = await keys.verify(allowed.intent_attestation, expected)
    found.verified = claims.intent.action
    found.another = await outcome(async () => (await keys.verify(allowed.intent_attestation, { ...expected, txCommit: '1'.repeat(64) }), 'ok'))
    once.use(claims)
    found.twice = await outcome(async () => (once.use(claims), 'ok'))
    const removing = intent({ intent: { action: 'bash', command: 'rm -rf /' } })
    const denied = await bailiff.authorize(removing)
    found.denied = `${denied.status} ${denied.error_code}`
    found.testRun = (await bailiff.testRun(removing)).status
    found.invalid = await outcome(async () => (await bailiff.authorize(intent({ agentId: '' }))).status)
    found.stranger = await outcome(async () => (await new Bailiff({ url: task.url, apiKey: 'sk_svc_x' }).authorize(intent())).status)
    found.unattested = await outcome(() => bailiff.submit('rpc', 1, allowed.intent_attestation, 'eth_sendRawTransaction', ['0x02']))
    const mail = intent({ intent: { action: 'email.send', to: 'a@example.com' } })
    const pending = await bailiff.authorize(mail)
    found.pending = pending.status
    found.looked = (await bailiff.hold(pending.holdId)).status
    print({ hold: pending.holdId })
    found.resolved = (await bailiff.waitForHold(pending.holdId, 60_000)).status
    found.approved = (await bailiff.authorize(mail)).status
    found.missing = await outcome(async () => (await bailiff.waitForHold('00000000-0000-4000-8000-000000000000', 60_000)).status)
    return found
  },
}

print({ result: await jobs[task.do]() })
