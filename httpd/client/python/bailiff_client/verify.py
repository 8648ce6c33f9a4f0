"""Checks attestations for those who act on them. docs/verify.md says what a relying party has to check.

    keys = Keys(bailiff, "svc-core")
    verified = keys.verify(attestation, policy_hash=[hash], tx_commit=commit)
    once.use(verified)

It needs the package cryptography: for Ed25519 any version from 2.6 on, for ML-DSA-65 one that has it. What cannot be
checked is refused; with pqc=False the post-quantum signature is not checked, and the result says so.
"""

import base64
import collections
import hashlib
import json
import re
import threading
import time

from .client import Refused, Unreachable

try:
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError:  # pragma: no cover - depends on the machine
    Ed25519PublicKey = None
try:
    from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA65PublicKey
except ImportError:
    MLDSA65PublicKey = None

LIFETIME = 60
CLOCK_SKEW = 5
MAX_TOKEN_BYTES = 8 << 10
PQC_CONTEXT = "svc-pqc-attestation-v1"
FRESH, STALE, PAUSE = 300, 3600, 10
MAX_REMEMBERED = 1_000_000
MAX_INTEGER = (1 << 53) - 1


class NotVerified(Exception):
    """An attestation that is not to be acted on. reason is a name of docs/verify.md, such as expired."""

    def __init__(self, reason, message):
        super().__init__(f"{reason}: {message}")
        self.reason = reason


# The claims of an attestation that is good, without pqc, and which of its signatures were checked: not_checked is empty, or
# has "ML-DSA-65".
Verified = collections.namedtuple("Verified", ["claims", "not_checked"])


def can_check_mldsa():
    """Report whether the installed cryptography has ML-DSA-65."""
    if MLDSA65PublicKey is None:
        return False
    try:
        MLDSA65PublicKey.from_public_bytes(bytes(1952))
    except UnsupportedAlgorithm:
        return False
    except ValueError:
        pass
    return True


class KeySets:
    """The keys of one issuer, from its two key-set documents.

    Each must have keys of its own kind only, under their RFC 7638 thumbprints.
    """

    def __init__(self, issuer, jwks, pqc_keys):
        if Ed25519PublicKey is None:
            raise NotVerified("unavailable", "the package cryptography is not installed; attestations can't be verified without it")
        self.issuer, self._ed25519, self._mldsa = issuer, {}, {}
        for key in _keys_of(jwks):
            if [key.get(name) for name in ("kty", "crv", "alg", "use")] != ["OKP", "Ed25519", "EdDSA", "sig"]:
                raise ValueError("the key set has a key of another kind")
            _list(self._ed25519, key, {"crv": "Ed25519", "kty": "OKP", "x": key.get("x")}, key.get("x"), 32)
        for key in _keys_of(pqc_keys):
            if [key.get(name) for name in ("kty", "alg", "use", "ctx")] != ["AKP", "ML-DSA-65", "sig", PQC_CONTEXT]:
                raise ValueError("the key set has a key of another kind")
            _list(self._mldsa, key, {"alg": "ML-DSA-65", "kty": "AKP", "pub": key.get("pub")}, key.get("pub"), 1952)

    def verify(self, token, now, pqc=True):
        """Check an attestation at a time in Unix seconds."""
        if len(token) >= MAX_TOKEN_BYTES:
            raise NotVerified("too_large", f"{len(token)} bytes")
        parts = token.split(".")
        decoded = [_decode(part) for part in parts]
        if len(parts) != 3 or None in decoded:
            raise NotVerified("malformed", "it is not three parts of canonical base64url")
        key = self._ed25519.get(_key_id(decoded[0]))
        if key is None:
            raise NotVerified("unknown_key", _key_id(decoded[0]))
        if not _check_ed25519(key, decoded[2], f"{parts[0]}.{parts[1]}".encode()):
            raise NotVerified("signature", "the Ed25519 signature does not verify")
        claims, signed = _read_payload(decoded[1])
        self._check_pqc(signed, claims, pqc)
        self._check_parties(claims)
        if claims["exp"] != claims["iat"] + LIFETIME:
            raise NotVerified("lifetime", f"exp is not iat + {LIFETIME}")
        if now + CLOCK_SKEW < claims["iat"]:
            raise NotVerified("not_yet_valid", f"iat is {claims['iat']}")
        if now >= claims["exp"]:
            raise NotVerified("expired", f"exp was {claims['exp']}; ask for a new authorization")
        return Verified(claims, () if pqc else ("ML-DSA-65",))

    def _check_parties(self, claims):
        if claims["iss"] != self.issuer:
            raise NotVerified("issuer", f"iss is not {self.issuer}")
        if claims["aud"] != "svc":
            raise NotVerified("audience", "aud is not svc")
        fault = _fault_of(claims)
        if fault:
            raise NotVerified("payload", fault)

    def _check_pqc(self, signed, claims, pqc):
        key, signature = self._mldsa.get(signed["kid"]), _decode(signed["sig"])
        if key is None or len(signature) != 3309:
            raise NotVerified("pqc", "its key is unknown, or its signature malformed")
        if not pqc:
            return
        if not can_check_mldsa():
            raise NotVerified("unavailable", "the installed cryptography has no ML-DSA-65; install one that has, or give pqc=False")
        try:
            MLDSA65PublicKey.from_public_bytes(key).verify(signature, _canonical(claims).encode(), PQC_CONTEXT.encode())
        except (InvalidSignature, ValueError) as error:
            raise NotVerified("pqc", "the ML-DSA-65 signature does not verify") from error


def _keys_of(document):
    keys = json.loads(document).get("keys")
    if not isinstance(keys, list) or not keys:
        raise ValueError("the key set has no keys")
    return keys


def _list(keys, key, members, public, length):
    text = json.dumps(members, separators=(",", ":"), sort_keys=True)
    thumbprint = _encode(hashlib.sha256(text.encode()).digest())
    raw = _decode(public) if isinstance(public, str) else None
    if raw is None or len(raw) != length or key.get("kid") != thumbprint or thumbprint in keys:
        raise ValueError("the key set has a key whose kid is not its thumbprint, or twice")
    keys[thumbprint] = raw


def _check_ed25519(key, signature, message):
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _key_id(header):
    match = re.fullmatch(rb'\{"alg":"EdDSA","kid":"([A-Za-z0-9_-]+)"\}', header)
    if match is None or _decode(match[1].decode()) is None:
        raise NotVerified("header", "it is not exactly alg and kid")
    return match[1].decode()


def _read_payload(body):
    """Read a payload whose Ed25519 signature is good. Its bytes must be the canonical form of what they say."""
    try:
        spelled = body.decode("utf-8")
        payload = json.loads(spelled)
        again = _canonical(payload)
    except (ValueError, RecursionError) as error:
        raise NotVerified("payload", "it is not JSON") from error
    pqc = payload.get("pqc") if isinstance(payload, dict) else None
    if not isinstance(pqc, dict) or pqc.get("alg") != "ML-DSA-65" or pqc.get("ctx") != PQC_CONTEXT:
        raise NotVerified("pqc", "pqc is missing, or names another algorithm or context")
    if not isinstance(pqc.get("kid"), str) or not isinstance(pqc.get("sig"), str) or _decode(pqc["sig"]) is None:
        raise NotVerified("pqc", "pqc is malformed")
    if len(pqc) != 4 or again != spelled:
        raise NotVerified("payload", "it is not the canonical form of the claims")
    del payload["pqc"]
    fault = _member_fault(payload, _CLAIMS)
    if fault:
        raise NotVerified("payload", fault)
    return payload, pqc


def _canonical(value):
    """RFC 8785, for claims: their names are ASCII, and their numbers integers."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True)


def _text(value):
    return isinstance(value, str) and value != ""


def _up_to(most):
    return lambda value: _text(value) and len(value) <= most


def _matches(form):
    return lambda value: isinstance(value, str) and re.fullmatch(form, value) is not None


def _within(least, most):
    return lambda value: type(value) is int and least <= value <= most


def _amount(value):
    return _matches("0|[1-9][0-9]{0,77}")(value) and int(value) < 1 << 256


def _recipients(value):
    return _text(value) or isinstance(value, list) and len(value) > 0 and all(_text(one) for one in value)


def _token_id(value):
    raw = _decode(value) if isinstance(value, str) else None
    return raw is not None and len(raw) == 16 and any(raw)


_HEX = _matches("[0-9a-f]{64}")

# The claims: their checks, and whether they are optional.
_CLAIMS = {
    "aud": (_text, False), "chainId": (_within(1, MAX_INTEGER), True), "decision": (lambda value: value == "ALLOWED", False),
    "exp": (_within(1, MAX_INTEGER), False), "framework": (_up_to(64), False), "iat": (_within(1, MAX_INTEGER - LIFETIME), False),
    "intent": (lambda value: isinstance(value, dict), False), "intentHash": (_HEX, False), "iss": (_text, False),
    "jti": (_token_id, False), "keyId": (_text, False), "kind": (_matches("evm|tool|mcp|model"), False),
    "mode": (lambda value: value == "OBSERVE", True), "policyHash": (_HEX, False), "sub": (_up_to(256), False),
    "txCommit": (_HEX, True), "userOpHash": (_matches("0x[0-9a-f]{64}"), True),
}
_INTENT = {
    "action": (_matches("[ -~]{1,128}"), False), "amountBase": (_amount, True), "calldataHash": (_HEX, True),
    "decimals": (_within(0, 36), True), "maxFeeBase": (_amount, True), "targetAddress": (_matches("0x[0-9a-f]{40}"), True),
    "to": (_recipients, True), "token": (_text, True),
}


def _fault_of(claims):
    """The first rule that claims break which are well-formed each for itself."""
    intent, kind = claims["intent"], claims["kind"]
    fault = _member_fault(intent, _INTENT)
    if fault:
        return f"intent.{fault}"
    if ("txCommit" in claims) == ("userOpHash" in claims):
        return "exactly one of txCommit and userOpHash is needed"
    if kind != "evm":
        return f"it is of kind {kind} and says more" if "userOpHash" in claims or len(intent) > 1 else None
    return None if "chainId" in claims and "amountBase" in intent else "chainId or intent.amountBase is missing"


def _member_fault(value, forms):
    for name in value:
        if name not in forms:
            return f"{name} is unknown"
    for name, (check, optional) in forms.items():
        if not check(value[name]) if name in value else not optional:
            return f"{name} is missing or malformed"
    return None


def _decode(part):
    """Unpadded base64url, in its one spelling; None for anything else."""
    if re.fullmatch("[A-Za-z0-9_-]*", part) is None or len(part) % 4 == 1:
        return None
    raw = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    return raw if _encode(raw) == part else None


def _encode(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


class Keys:
    """Fetches the key sets of one service, and verifies with them.

    They are fetched again after 5 minutes, and where a key is unknown, at most every 10 seconds; where that fails they are used
    for an hour, and then nothing is verified any more. Issuer and service are trusted as a pair. clock gives Unix seconds.
    """

    def __init__(self, service, issuer, clock=time.time):
        if not issuer:
            raise ValueError("the issuer to trust is empty; its name is in /.well-known/svc-conformance.json")
        self._service, self._issuer, self._clock = service, issuer, clock
        self._turn = threading.Lock()
        self._kept, self._fetched, self._tried = None, None, None

    def verify(self, token, policy_hash, tx_commit=None, user_op_hash=None, chain_id=None, refuse_observe=False, pqc=True):
        """Check an attestation against what is about to be carried out.

        policy_hash is a list of the policies that count, or "any". tx_commit or user_op_hash is of the action itself, computed
        by who carries it out. Whether the attestation was used before is for a Once to find out.
        """
        if (tx_commit is None) == (user_op_hash is None):
            raise NotVerified("expected", "give tx_commit or user_op_hash, of the action that is carried out")
        if not policy_hash or isinstance(policy_hash, str) and policy_hash != "any":
            raise NotVerified("expected", 'give a list of policy hashes, or "any"')
        verified = self._verify_by_keys(token, pqc)
        claims = verified.claims
        if (claims.get("txCommit"), claims.get("userOpHash")) != (tx_commit, user_op_hash):
            raise NotVerified("commitment", "it is for another action")
        if policy_hash != "any" and claims["policyHash"] not in policy_hash:
            raise NotVerified("policy", claims["policyHash"])
        if claims.get("chainId") != chain_id:
            raise NotVerified("chain", f"it is for chain {claims.get('chainId')}")
        if refuse_observe and "mode" in claims:
            raise NotVerified("observe", "it was given while observing")
        return verified

    def _verify_by_keys(self, token, pqc):
        keys = self._keys(False)
        try:
            return keys.verify(token, self._clock(), pqc)
        except NotVerified as error:
            if error.reason not in ("unknown_key", "pqc"):
                raise
            try:
                newer = self._keys(True)
            except NotVerified:
                newer = keys
            if newer is keys:
                raise
        return newer.verify(token, self._clock(), pqc)

    def _keys(self, anew):
        with self._turn:
            if not anew and self._kept is not None and self._within(self._fetched, FRESH):
                return self._kept
            cause = None
            if not self._within(self._tried, PAUSE):
                try:
                    self._fetch()
                except (Refused, Unreachable, ValueError, AttributeError, TypeError) as error:
                    cause = error
            if self._kept is not None and self._within(self._fetched, STALE):
                return self._kept
            raise NotVerified("keys", "the key sets of the service can't be had") from cause

    def _within(self, then, long):
        return then is not None and 0 <= self._clock() - then < long

    def _fetch(self):
        self._tried = self._clock()
        jwks = self._service.document("/.well-known/jwks.json")
        self._kept = KeySets(self._issuer, jwks, self._service.document("/.well-known/svc-pqc-keys.json"))
        self._fetched = self._tried


class Once:
    """Remembers which attestations were used, in the memory of this process. Use one before the action."""

    def __init__(self, clock=time.time):
        self._clock, self._used, self._next, self._turn = clock, {}, 0, threading.Lock()

    def use(self, verified):
        """Use up an attestation; NotVerified where it was used before, has expired, or there is no room to remember it."""
        now, jti, exp = self._clock(), verified.claims["jti"], verified.claims["exp"]
        with self._turn:
            if now >= exp:
                raise NotVerified("expired", f"exp was {exp}")
            if jti in self._used:
                raise NotVerified("used", jti)
            if now >= self._next:
                self._next = now + LIFETIME
                self._used = {one: end for one, end in self._used.items() if now < end + LIFETIME}
            if len(self._used) >= MAX_REMEMBERED:
                raise NotVerified("crowded", "too many attestations are remembered")
            self._used[jti] = exp
