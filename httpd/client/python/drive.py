"""Drives the client for tests, as httpd/client/drive says."""

import json
import sys

from bailiff_client import Bailiff, Refused, RPCError, Unreachable
from bailiff_client import verify
from bailiff_client.verify import Keys, NotVerified, Once

TASK = json.load(sys.stdin)
PQC = not TASK.get("withoutPQC", False)
COMMIT = "0" * 64


def show(value):
    print(json.dumps(value), flush=True)


def intent(**more):
    return {"framework": "custom", "agentId": "a-1", "txCommit": COMMIT, "intent": {"action": "bash", "command": "ls"}, **more}


def outcome(action):
    try:
        return action()
    except Refused:
        return "refused"
    except Unreachable:
        return "unreachable"
    except NotVerified as error:
        return error.reason
    except RPCError as error:
        return f"rpc {error.code}"
    except Exception as error:  # a defect: its kind is compared with what should come
        return f"{type(error).__name__}: {error}"


def ok(action):
    def run():
        action()
        return "ok"

    return outcome(run)


def answers():
    urls = [f"{TASK['url']}/{i}" for i in range(TASK["count"])]
    return [outcome(lambda: Bailiff(url, "sk_svc_x", 5, 4096).authorize(intent())["status"]) for url in urls]


def slow():
    return outcome(lambda: Bailiff(TASK["url"], "sk_svc_x", 1).authorize(intent())["status"])


def retry():
    more = {"request_nonce": TASK["nonce"]} if "nonce" in TASK else {}
    return outcome(lambda: Bailiff(TASK["url"], "sk_svc_x", 5).authorize(intent(**more))["status"])


def vectors():
    with open(TASK["file"], encoding="utf-8") as file:
        document = json.load(file)
    clock = [0]
    keys = Keys(Bailiff(TASK["url"]), document["issuer"], lambda: clock[0])

    def check(vector):
        clock[0] = vector["now"]
        expect = vector.get("expect", document["vectors"][0]["expect"])
        return ok(lambda: keys.verify(
            vector["token"], [expect["policyHash"]], expect.get("txCommit"), expect.get("userOpHash"), expect.get("chainId"),
            expect.get("refuseObserve", False), PQC))

    return [check(vector) for vector in document["vectors"]]


def cache():
    clock = [0]
    keys = Keys(Bailiff(TASK["url"]), "svc-core", lambda: clock[0])

    def check(at):
        clock[0] = at
        return ok(lambda: keys.verify("", "any", "x"))

    return [check(at) for at in TASK["times"]]


def service():
    bailiff, once, found = Bailiff(TASK["url"], TASK["apiKey"]), Once(), {}
    keys = Keys(bailiff, TASK["issuer"])
    allowed = bailiff.authorize(intent(request_nonce="n-1"))
    found["allowed"] = allowed["status"]
    found["repeated"] = bailiff.authorize(intent(request_nonce="n-1")).get("replayed")
    token, policy = allowed["intent_attestation"], [allowed["policyHash"]]
    if not verify.can_check_mldsa():
        found["unavailable"] = ok(lambda: keys.verify(token, policy, COMMIT))
    verified = keys.verify(token, policy, COMMIT, pqc=verify.can_check_mldsa())
    found["verified"] = verified.claims["intent"]["action"]
    found["another"] = ok(lambda: keys.verify(token, policy, "1" * 64, pqc=verify.can_check_mldsa()))
    once.use(verified)
    found["twice"] = ok(lambda: once.use(verified))
    removing = intent(intent={"action": "bash", "command": "rm -rf /"})
    denied = bailiff.authorize(removing)
    found["denied"] = f"{denied['status']} {denied['error_code']}"
    found["testRun"] = bailiff.test_run(removing)["status"]
    found["invalid"] = outcome(lambda: bailiff.authorize(intent(agentId=""))["status"])
    found["stranger"] = outcome(lambda: Bailiff(TASK["url"], "sk_svc_x").authorize(intent())["status"])
    found["unattested"] = outcome(lambda: bailiff.submit("rpc", 1, token, "eth_sendRawTransaction", ["0x02"]))
    mail = intent(intent={"action": "email.send", "to": "a@example.com"})
    pending = bailiff.authorize(mail)
    found["pending"] = pending["status"]
    found["looked"] = bailiff.hold(pending["holdId"])["status"]
    show({"hold": pending["holdId"]})
    found["resolved"] = bailiff.wait_for_hold(pending["holdId"], 60)["status"]
    found["approved"] = bailiff.authorize(mail)["status"]
    found["missing"] = outcome(lambda: bailiff.wait_for_hold("00000000-0000-4000-8000-000000000000", 60)["status"])
    return found


def capable():
    return {"ed25519": verify.Ed25519PublicKey is not None, "mldsa": verify.can_check_mldsa()}


show({"result": {"answers": answers, "slow": slow, "retry": retry, "vectors": vectors, "cache": cache, "service": service, "capable": capable}[TASK["do"]]()})
