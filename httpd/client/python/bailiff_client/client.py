"""The client; the package says what it promises."""

import http.client
import json
import re
import socket
import ssl
import threading
import time
import urllib.parse

RETRY_PAUSE = 0.1
POLL_PAUSE = 1.0
LONGEST_POLL = 30
MOST_LOST = 3
HOLD_STATES = ("PENDING", "ALLOWED", "DENIED", "EXPIRED")


class Refused(Exception):
    """A 4xx that decides nothing.

    status is that of HTTP, code such as SVC_API_KEY_INVALID ("" where the answer has none), details the faults of a request's
    body, and retry_after the seconds to wait before the request is sent again, or None.
    """

    def __init__(self, status, code, message, details=None, retry_after=None):
        super().__init__(message or f"the service answered {status}")
        self.status, self.code, self.details, self.retry_after = status, code, details, retry_after


class Unreachable(Exception):
    """No answer of the service that could be used: whether it decided is unknown.

    status is that of HTTP, 0 where no answer came, or none that could be read.
    """

    def __init__(self, message, status=0, code="", retry_after=None):
        super().__init__(f"no usable answer from the service: {message}")
        self.status, self.code, self.retry_after = status, code, retry_after


class RPCError(Exception):
    """The error of a gateway, or of the node behind it."""

    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.code, self.data = code, data


class _UnixConnection(http.client.HTTPConnection):
    """A connection to a Unix socket."""

    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Bailiff:
    """A service at an address: http:// or https:// and a host, or unix: and the path of a socket.

    timeout bounds a call with its retries, in seconds; what it waits for a hold comes on top. max_answer bounds an answer, in
    bytes. context is the ssl.SSLContext for https; None is the system's default.
    """

    def __init__(self, url, api_key=None, timeout=10.0, max_answer=1 << 20, context=None):
        if api_key is not None and not re.fullmatch(r"[!-~]{1,4096}", api_key):
            raise ValueError("the API key has characters that no API key has; give it without spaces and line ends")
        self._key, self._timeout, self._max_answer = api_key, timeout, max_answer
        self._connect, self._prefix = _connector(url, context)

    def authorize(self, request):
        """Ask for a decision; a denial is one. With request_nonce it is sent a second time where no answer came."""
        return self._decide("/v1/authorize", request, False)

    def test_run(self, request):
        """Ask what would be decided. Nothing changes, and nothing is attested."""
        return self._decide("/v1/authorize/test-run", request, True)

    def hold(self, hold_id, wait=0):
        """Read a hold; the service answers within wait seconds (30 at most), and at once where it is resolved."""
        seconds = min(int(wait), LONGEST_POLL)
        path = "/v1/holds/" + urllib.parse.quote(hold_id, safe="")
        if seconds > 0:
            path += f"?wait={seconds}"
        hold = _read_json(_succeeded(self._send("GET", path, timeout=self._timeout + max(seconds, 0))))
        if not isinstance(hold, dict) or hold.get("holdId") != hold_id or hold.get("status") not in HOLD_STATES:
            raise _malformed("it is not the hold that was asked for")
        return hold

    def wait_for_hold(self, hold_id, timeout, pause=POLL_PAUSE):
        """Wait until a hold is resolved, at most timeout seconds, and return it as it is then.

        A hold that has expired is Refused with the status 404. An approval authorizes nothing by itself: send the same request
        again.
        """
        deadline, lost = time.monotonic() + timeout, 0
        while True:
            again, failure, hold = pause, None, None
            try:
                hold = self.hold(hold_id, max(0, deadline - time.monotonic()))
                if hold["status"] != "PENDING":
                    return hold
                lost = 0
            except Unreachable as error:
                lost += 1
                if lost >= MOST_LOST:
                    raise
                failure, again = error, max(pause, error.retry_after or 0)
            except Refused as error:
                if error.status != 429:
                    raise
                failure, again = error, max(pause, error.retry_after or 0)
            if time.monotonic() + again >= deadline:
                if failure is not None:
                    raise failure
                return hold
            time.sleep(again)

    def submit(self, gateway, chain_id, attestation, method, params):
        """Send a write with its attestation, once, and return the result of the JSON-RPC response.

        gateway is "rpc" or "bundler". Without an attestation (None) it reads. What the gateway or the node refuses is an
        RPCError.
        """
        if gateway not in ("rpc", "bundler"):
            raise ValueError(f"{gateway!r} is no gateway; it can be rpc or bundler")
        headers = {} if attestation is None else {"Svc-Receipt": attestation}
        body = _encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        answer = _read_json(_succeeded(self._send("POST", f"/{gateway}/{int(chain_id)}", body, headers)))
        if not isinstance(answer, dict) or answer.get("jsonrpc") != "2.0" or answer.get("id") != 1:
            raise _malformed("it is not the JSON-RPC response to the request")
        error = answer.get("error")
        if isinstance(error, dict):
            raise RPCError(error.get("code"), error.get("message"), error.get("data"))
        if "result" not in answer:
            raise _malformed("it has neither a result nor an error")
        return answer["result"]

    def document(self, path):
        """Fetch a public document."""
        return _succeeded(self._send("GET", path, headers={}))[2]

    def _decide(self, path, request, test_run):
        body = _encode(request)
        nonce = request.get("request_nonce", "")
        deadline = time.monotonic() + self._timeout
        try:
            raw = self._send("POST", path, body)
        except Unreachable:
            left = deadline - time.monotonic() - RETRY_PAUSE
            if not (test_run or nonce) or left <= 0:
                raise
            time.sleep(RETRY_PAUSE)
            raw = self._send("POST", path, body, timeout=left)
        decision = _read_decision(raw, test_run)
        if decision.get("request_nonce", "") != nonce:
            raise _malformed("it is for another nonce")
        return decision

    def _send(self, method, path, body=None, headers=None, timeout=None):
        """Send a request once, and return status, headers and body of its answer, whatever the status."""
        if headers is None:
            headers = {} if self._key is None else {"Authorization": f"Bearer {self._key}"}
        headers = {**headers, "User-Agent": "bailiff-client"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        timeout = self._timeout if timeout is None else timeout
        connection = self._connect(timeout)
        # The timeout of a socket is for each of its operations: this one ends them all.
        guard = threading.Timer(timeout, _end, [connection])
        guard.daemon = True
        guard.start()
        try:
            connection.request(method, self._prefix + path, body, headers)
            response = connection.getresponse()
            text = response.read(self._max_answer + 1)
            if response.length:
                if len(text) > self._max_answer:
                    raise Unreachable(f"the answer has more than {self._max_answer} bytes")
                raise Unreachable("the answer broke off")
            status, fields = response.status, response.headers
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unreachable(str(error) or type(error).__name__) from error
        finally:
            guard.cancel()
            connection.close()
        if len(text) > self._max_answer:
            raise Unreachable(f"the answer has more than {self._max_answer} bytes")
        return status, fields, text


def _end(connection):
    """End whatever a connection waits for."""
    try:
        connection.sock.shutdown(socket.SHUT_RDWR)
    except (AttributeError, OSError):
        pass  # not connected yet, for which the socket's own timeout is, or not any more


def _connector(url, context):
    """Return what connects to the address of a service, and the path below which routes begin."""
    if url.startswith("unix:"):
        path = url[len("unix:"):]
        path = path[2:] if path.startswith("//") else path
        if not path.startswith("/"):
            raise ValueError(f"{url} is not unix: and an absolute path, such as unix:/run/bailiff.sock")
        return (lambda timeout: _UnixConnection(path, timeout)), ""
    read = urllib.parse.urlsplit(url.rstrip("/"))
    if read.scheme not in ("http", "https") or not read.hostname or read.username or read.password or read.query or read.fragment:
        raise ValueError(f"{url!r} is not the address of a service; give http:// or https:// and a host, or unix: and the path of a socket")
    host, port = read.hostname, read.port
    if read.scheme == "http":
        return (lambda timeout: http.client.HTTPConnection(host, port, timeout=timeout)), read.path
    context = context or ssl.create_default_context()
    return (lambda timeout: http.client.HTTPSConnection(host, port, timeout=timeout, context=context)), read.path


def _encode(value):
    """Write JSON. Text that is not Unicode is refused (UnicodeEncodeError), and so is a number that is none (ValueError)."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")


def _read_json(raw):
    try:
        return json.loads(raw[2].decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _malformed(str(error)) from error


def _succeeded(raw):
    """Return an answer that is a 2xx, and raise any other."""
    status, headers, _ = raw
    if 200 <= status < 300:
        return raw
    try:
        said = _read_json(raw)
    except Unreachable:
        said = None  # the status tells what JSON does not
    if not isinstance(said, dict):
        said = {}
    code, message = str(said.get("error_code", "")), str(said.get("message", ""))
    seconds = headers.get("Retry-After", "")
    retry_after = int(seconds) if re.fullmatch(r"[0-9]{1,9}", seconds) else None
    if 400 <= status < 500:
        raise Refused(status, code, message, said.get("errors", said.get("diagnostics")), retry_after)
    raise Unreachable(f"it answered {status} {code} {message}".rstrip(), status, code, retry_after)


def _read_decision(raw, test_run):
    """Read a decision, and hold it to its form, so that a program that is not the service allows nothing."""
    if raw[0] == 403:
        try:
            denial = _read_json(raw)
        except Unreachable:
            denial = None
        if isinstance(denial, dict) and denial.get("status") == "DENIED" and denial.get("policyHash"):
            return denial
    decision = _read_json(_succeeded(raw))
    if not isinstance(decision, dict):
        raise _malformed("it is not an object")
    status, attestation = decision.get("status"), decision.get("intent_attestation")
    attested = isinstance(attestation, str) and attestation != ""
    if status not in ("ALLOWED", "PENDING") and not (status == "DENIED" and test_run):
        raise _malformed(f"its status is {status!r}")
    if raw[0] != (202 if status == "PENDING" and not test_run else 200):
        raise _malformed(f"it is {status} with the HTTP status {raw[0]}")
    if not decision.get("policyHash"):
        raise _malformed("it has no policyHash")
    if decision.get("test_run", False) is not test_run:
        raise _malformed("it is not of the kind that was asked for")
    if attested != (status == "ALLOWED" and not test_run):
        raise _malformed("its attestation does not fit its status")
    if status == "PENDING" and not test_run and not decision.get("holdId"):
        raise _malformed("it is PENDING without a holdId")
    return decision


def _malformed(reason):
    return Unreachable(f"the answer is not one of the service: {reason}")
