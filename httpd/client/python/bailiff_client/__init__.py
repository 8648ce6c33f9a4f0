"""Asks a Bailiff service for decisions, waits for holds, and submits writes through the gateways.

    bailiff = Bailiff("https://bailiff.example", api_key=key)
    decision = bailiff.authorize({"framework": "my-agent", "agentId": "a", "txCommit": commit,
                                  "intent": {"action": "bash", "command": "git status"}})
    if decision["status"] != "ALLOWED":
        raise SystemExit(decision["message"])

What is returned is a decision of the service in its documented form, as a dict. Everything else is raised: Refused is a 4xx
that is no decision; Unreachable is no connection, a timeout, a redirect, a 5xx, or an answer that is malformed or too large.
Redirects are not followed and proxies not used. A request is sent a second time only where that cannot count twice.

The standard library is all that this module needs; bailiff_client.verify needs the package cryptography.
"""

from .client import Bailiff, Refused, RPCError, Unreachable

__all__ = ["Bailiff", "RPCError", "Refused", "Unreachable"]
