"""`torpor why` names what a real scheduler, kubelet and quota controller keep from starting.

tests/integration/controller/why has the situations that need none of them.
"""

import json
from typing import Any

import pytest
from torpor_demo.kubectl import Kubectl

from tests.e2e.cli.conftest import Terminal

_TIMEOUT = 300.0
_CASES: dict[str, tuple[dict[str, Any], str, tuple[str, ...]]] = {
    "an image that does not exist": (
        {"image": "registry.invalid/none:1"},
        "ImagePull",
        ("image registry.invalid/none:1 cannot be pulled",),
    ),
    "a pod that fits on no node": (
        {"pod": {"resources": {"requests": {"memory": "900Gi"}, "limits": {"memory": "900Gi"}}}},
        "Unschedulable",
        ("no node fits", "Insufficient memory"),
    ),
    "a volume that does not exist": (
        {
            "pod": {
                "volumes": [{"name": "settings", "configMap": {"name": "nothing"}}],
                "volumeMounts": [{"name": "settings", "mountPath": "/settings"}],
            }
        },
        "Mount",
        ("FailedMount", 'configmap "nothing" not found'),
    ),
}


@pytest.mark.parametrize("case", _CASES)
def test_why_names_what_keeps_a_real_pod_from_starting(torpor: Terminal, case: str) -> None:
    fields, kind, words = _CASES[case]
    _assert_named(torpor, _submit(torpor, **fields), kind, words)


def test_why_names_the_quota_that_rejects_a_pod(torpor: Terminal, kubectl: Kubectl) -> None:
    kubectl.run("-n", torpor.namespace, "create", "quota", "none", "--hard=pods=0")
    in_force = ("--for=jsonpath={.status.hard.pods}=0", f"--timeout={_TIMEOUT:.0f}s")
    kubectl.run("-n", torpor.namespace, "wait", "quota/none", *in_force, limit=_TIMEOUT + 60)
    try:
        _assert_named(torpor, _submit(torpor), "Quota", ("exceeded quota: none", "limited: pods=0"))
    finally:
        kubectl.run("-n", torpor.namespace, "delete", "quota", "none")


def _submit(torpor: Terminal, **fields: Any) -> str:
    """A run with one container task; its image matters only if the pod is scheduled and mounted."""
    task = {"name": "load", "container": {"command": ["true"]}, "image": "registry.invalid/none:1", **fields}
    return torpor.submit(task)


def _assert_named(torpor: Terminal, run: str, kind: str, words: tuple[str, ...]) -> None:
    def is_named() -> bool:
        causes = json.loads(torpor.ok("why", run, "-o", "json"))
        sentences = [cause["sentence"] for cause in causes if cause["kind"] == kind]
        return any(all(word in sentence for word in words) for sentence in sentences)

    torpor.until(is_named, f"the cause {kind} with the words {words}")
    torpor.ok("cancel", run)
