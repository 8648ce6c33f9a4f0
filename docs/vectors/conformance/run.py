#!/usr/bin/env python3
"""Run conformance vectors against a service over HTTP. Needs Python 3.8 alone.

  run.py --url http://127.0.0.1:8787 --keys 'bailiff keys create --email v@example.com
         --scope authorize --scope warranty:deploy --json' [FILE ...]

The service has SVC_OPERATOR_PUBLIC_KEY as the header of the files names it. The command of --keys prints JSON with api_key; for a
trusted shim's key --shim is added to it. Each test gets fresh keys if its trace has more than one step or a rule counts in its
policy. A test is not run if a step is at another time, the operator decides a hold (which takes a signature), or a trusted shim has
to consent to the policy.
"""
import argparse, glob, json, os, subprocess, sys, urllib.error, urllib.request


def send(url, path, key, body):
    request = urllib.request.Request(url + path, body, {"Authorization": "Bearer " + key, "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read() or b"{}")


class Keys:
    """Fresh API keys with a group's policy in force."""

    def __init__(self, options, operator):
        self.options, self.operator, self.made = options, operator, 0

    def fresh(self, group, shim):
        command = self.options.keys + (" --shim" if shim else "")
        key = json.loads(subprocess.run(command, shell=True, check=True, capture_output=True).stdout)["api_key"]
        self.made += 1
        signed = group["policy"] + "## signature\nsvc-sig: " + group["signature"] + "\n"
        body = json.dumps({"warranty_md": signed, "operator_public_key": self.operator}).encode()
        status, answer = send(self.options.url, "/v1/warranty/deploy", key, body)
        if status != 200 or answer["policyHash"] != group["policyHash"]:
            sys.exit("the policy %s is not deployed: %d %s" % (group["policyHash"], status, answer))
        return key


def why_not(group, test):
    if group["profiles"]:
        return "a trusted shim has to consent"
    for step in test["trace"]:
        if "at" in step:
            return "it is at another time"
        if "resolve" in step:
            return "the operator decides a hold"
    return None


def differs(step, status, answer):
    expect = step["expect"]
    for name, want in (("status", expect["status"]), ("error_code", expect.get("error_code")), ("matched_rule", expect.get("matched_rule"))):
        if answer.get(name) != want:
            return "%s is %r, expected %r" % (name, answer.get(name), want)
    if status != expect["http"]:
        return "the HTTP status is %d, expected %d" % (status, expect["http"])
    return None


def run(url, group, test, key_of):
    for number, step in enumerate(test["trace"], 1):
        path = "/v1/authorize" + ("/test-run" if step.get("testRun") else "")
        problem = differs(step, *send(url, path, key_of(step.get("shim", False)), step["body"].encode()))
        if problem:
            return "step %d: %s\n  %s\n  under %s" % (number, problem, step["body"], group["policyHash"])
    return None


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--url", required=True)
    options.add_argument("--keys", required=True, help="a command that makes an API key")
    options.add_argument("--most", type=int, default=0, help="run so many tests at most")
    options.add_argument("files", nargs="*")
    options = options.parse_args()
    files = options.files or sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "*_test.json")))
    passed, failed, skipped = 0, 0, {}
    for name in files:
        with open(name, encoding="utf-8") as text:
            vectors = json.load(text)
        keys = Keys(options, vectors["header"][1].split(": ")[1])
        for group in vectors["testGroups"]:
            shared = {}
            counts = any(word in group["policy"] for word in ("max_count", "max_sum", "daily_", "_per_"))
            for test in group["tests"]:
                reason = why_not(group, test)
                if options.most and passed + failed >= options.most:
                    reason = "--most"
                if reason:
                    skipped[reason] = skipped.get(reason, 0) + 1
                    continue
                if counts or len(test["trace"]) > 1:
                    shared = {}
                problem = run(options.url, group, test, lambda shim: shared.get(shim) or shared.setdefault(shim, keys.fresh(group, shim)))
                passed, failed = passed + (problem is None), failed + (problem is not None)
                if problem:
                    print("%s, test %d (%s): %s" % (os.path.basename(name), test["tcId"], test["comment"], problem))
                    shared = {}
                elif len(test["trace"]) > 1:
                    shared = {}
    print("%d tests passed, %d failed" % (passed, failed) + "".join("; %d not run: %s" % (n, why) for why, n in sorted(skipped.items())))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
