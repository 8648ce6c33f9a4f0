#!/usr/bin/env python3
"""Run conformance vectors against a service over HTTP. Needs Python 3.8 and, for what is signed, the package cryptography.

  run.py --url http://127.0.0.1:8787 --keys 'bailiff keys create --email v@example.com
         --scope authorize --scope warranty:deploy --json' [FILE ...]

The service has the publicKey of the groups as SVC_OPERATOR_PUBLIC_KEY, and shims.json as SVC_TRUSTED_SHIMS. The command of --keys
prints JSON with api_key; for a trusted shim's key --shim is added to it. What is not run is counted with its reason.
"""
import argparse, base64, hashlib, json, os, pathlib, subprocess, sys, time, urllib.error, urllib.request
try:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
except ImportError:
    Ed25519PrivateKey = None
HERE = pathlib.Path(__file__).resolve().parent

def encode(raw): return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()

def send(url, key, body=None):
    request = urllib.request.Request(url, body, {"Authorization": "Bearer " + key, "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return dict(json.load(answer), http=answer.status)
    except urllib.error.HTTPError as refused:
        return dict(json.loads(refused.read() or b"{}"), http=refused.code)

def consent(group, url, private):
    """A trusted shim's consent to a deployment: a compact JWT."""
    shim = json.loads((HERE / "shims.json").read_text("utf-8"))["issuers"][0]
    claims = {"activation_schema": "svc-trusted-shim-activation/v1", "iss": shim["issuer"], "aud": url, "sub": shim["identities"][0],
              "jti": os.urandom(16).hex(), "iat": int(time.time()) - 2, "exp": int(time.time()) + 200, "shim_version": shim["versions"][0],
              "capabilities": ["profile." + name for name in ("repository", "filesystem", "git", "database", "execution_limits")],
              "policy_hash": group["policyHash"], "operator_key_fingerprint": hashlib.sha256(group["publicKey"].encode()).hexdigest()}
    signed = ".".join(encode(json.dumps(part).encode()) for part in ({"alg": "EdDSA", "kid": shim["keys"][0]["kid"]}, claims))
    return signed + "." + encode(private.sign(signed.encode()))

def fresh(options, group, private, shim):
    """A fresh API key with the group's policy in force."""
    command, url = options.keys + (" --shim" if shim else ""), options.url + "/v1/warranty/deploy"
    key = json.loads(subprocess.run(command, shell=True, check=True, stdout=subprocess.PIPE).stdout)["api_key"]
    body = {"warranty_md": group["policy"] + "## signature\nsvc-sig: " + group["signature"] + "\n", "operator_public_key": group["publicKey"]}
    if group["profiles"]:
        body["trusted_shim_attestation"] = consent(group, url, private)
    answer = send(url, key, json.dumps(body).encode())
    if answer.get("policyHash") != group["policyHash"]:
        sys.exit("the policy %s is not deployed: %s" % (group["policyHash"], answer))
    return key

def why_not(group, test, private):
    if any("at" in step for step in test["trace"]):
        return "not run: a step is at another time"
    if not private and (group["profiles"] or any("resolve" in step for step in test["trace"])):
        return "not run: a shim's consent or the operator's decision is to be signed, which needs the package cryptography"

def resolve(url, group, decision, key, hold, private):
    now = int(time.time())
    text = "svc-hold-resolution-v1\n%s\n%s\n%s\n%s\n%d" % (hold["holdId"], hold["intentHash"], group["policyHash"], decision, now)
    body = {"decision": decision, "resolved_at": now, "operator_signature": encode(private.sign(text.encode()))}
    answer = send("%s/v1/holds/%s/resolution" % (url, hold["holdId"]), key, json.dumps(body).encode())
    return answer["http"] != 200 and "the hold is not resolved: %s" % answer

def run(url, group, test, key_of, private):
    for number, step in enumerate(test["trace"], 1):
        if "resolve" in step:
            problem = resolve(url, group, step["resolve"], opener, hold, private)
        else:
            key = key_of(step.get("shim", False))
            got = send(url + "/v1/authorize" + ("/test-run" if step.get("testRun") else ""), key, step["body"].encode())
            if got.get("intent_attestation"):
                got["intentHash"] = json.loads(base64.urlsafe_b64decode(got["intent_attestation"].split(".")[1] + "=="))["intentHash"]
            elif got.get("holdId"):
                opener, hold = key, send(url + "/v1/holds/" + got["holdId"], key)
                got["intentHash"] = hold.get("intentHash")
            problem = "; ".join("%s is %r, expected %r" % (name, got.get(name), step["expect"].get(name)) for name in (
                "http", "status", "error_code", "matched_rule", "intentHash") if got.get(name) != step["expect"].get(name))
        if problem:
            print("test %d, step %d: %s\n  %s\n  under %s" % (test["tcId"], number, problem, step.get("body"), group["policyHash"]))
            return "failed"
    return "passed"

def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--url", required=True)
    options.add_argument("--keys", required=True, help="a command that makes an API key")
    options.add_argument("files", nargs="*", type=pathlib.Path, default=sorted(HERE.glob("*_test.json")))
    options, results = options.parse_args(), {"passed": 0, "failed": 0}
    for vectors in (json.loads(file.read_text("utf-8")) for file in options.files):
        private = Ed25519PrivateKey and Ed25519PrivateKey.from_private_bytes(bytes.fromhex(vectors["header"][1].split(": ")[1]))
        for group in vectors["testGroups"]:
            shared, counts = {}, any(word in group["policy"] for word in ("max_count", "max_sum", "daily_", "_per_"))
            for test in group["tests"]:
                keys = {} if counts or len(test["trace"]) > 1 else shared
                key_of = lambda shim: keys.get(shim) or keys.setdefault(shim, fresh(options, group, private, shim))
                result = why_not(group, test, private) or run(options.url, group, test, key_of, private)
                results[result] = results.get(result, 0) + 1
    print("; ".join("%d %s" % (n, result) for result, n in results.items()))
    return 1 if results["failed"] else 0

if __name__ == "__main__":
    sys.exit(main())
