"""The mark by which the owner of a ServiceAccount lets tasks use it (ADR 0085). Pure."""

from collections.abc import Mapping
from typing import Any

from torpor_wire import constants


def allows_tasks(account: Mapping[str, Any]) -> bool:
    """Whether the stored ServiceAccount has the mark."""
    annotations = (account.get("metadata") or {}).get("annotations") or {}
    return bool(annotations.get(constants.ACCOUNT_TOKENS) == constants.TOKENS_ALLOWED)


def refusal(namespace: str, name: str) -> str:
    """Return the sentence for an account without the mark, with the command that adds it."""
    return (
        f"ServiceAccount {name} may not be used by tasks: its owner can allow it with kubectl annotate "
        f"serviceaccount {name} -n {namespace} {constants.ACCOUNT_TOKENS}={constants.TOKENS_ALLOWED}"
    )


def absence(namespace: str, name: str) -> str:
    """Return the sentence for an account that does not exist."""
    return f"ServiceAccount {name} does not exist in namespace {namespace}"
