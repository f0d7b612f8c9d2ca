"""Finds out which namespaces are set up for workflows, so that the operator may create TaskRuns and pods in them.

A namespace opts in by a RoleBinding (manifests/namespace). The operator checks its permissions in a namespace after the
API server has refused a write there, until they suffice. A new API server refuses everything until it has read the
roles, so a namespace counts as not ready only after two negative checks in a row.
"""

import logging
from collections.abc import Collection, Sequence
from typing import Never, Protocol

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import PODS, SELF_ACCESS_REVIEWS, TASKRUNS, Resource
from torpor_wire import constants

from torpor_operator.controller.workqueue import Key

_LOG = logging.getLogger(__name__)
_INTERVAL = 2.0
_CHECKS_PER_ROUND = 10
_NEGATIVE_CHECKS = 2
_ROLE = "torpor-operator-namespace"
_ACCOUNT = "torpor-operator"


class NamespaceUser(Protocol):
    """The controller of a kind."""

    def object_keys(self) -> Collection[Key]:
        """The keys of all objects of the kind."""

    def enqueue(self, key: Key, /) -> None:
        """Enqueue an object of a namespace that became ready or ceased to be."""


class Namespaces:
    """`home` is the operator's own namespace."""

    def __init__(self, api: Api, home: str) -> None:
        self._api = api
        self._home = home
        self._negative_checks: dict[str, int] = {}
        """By namespace to check: the negative checks in a row."""

    def why_not_ready(self, namespace: str) -> str:
        """What a namespace lacks, with the commands that add it. Empty if it is ready or was never checked."""
        if self._negative_checks.get(namespace, 0) < _NEGATIVE_CHECKS:
            return ""
        return not_ready_message(namespace, self._home)

    def check(self, namespace: str) -> None:
        """Check a namespace from now on: the API server refused a write in it."""
        self._negative_checks.setdefault(namespace, 0)

    async def run(self, users: Sequence[NamespaceUser]) -> Never:
        """Check some of the namespaces in use in each round, in turn, forever."""
        while True:
            in_use = {key.namespace for user in users for key in user.object_keys()}
            for namespace in self._next_round(in_use):
                try:
                    if await self._has_changed(namespace):
                        _enqueue(users, namespace)
                except errors.ApiError as error:
                    _LOG.warning("cannot check whether namespace %s is set up: %s", namespace, error.message)
            await self._api.clock.sleep(_INTERVAL)

    def _next_round(self, in_use: Collection[str]) -> list[str]:
        kept = [(namespace, checks) for namespace, checks in self._negative_checks.items() if namespace in in_use]
        chosen = [namespace for namespace, _ in kept[:_CHECKS_PER_ROUND]]
        self._negative_checks = dict([*kept[_CHECKS_PER_ROUND:], *kept[:_CHECKS_PER_ROUND]])
        return chosen

    async def _has_changed(self, namespace: str) -> bool:
        """Check a namespace, and return whether it became ready or ceased to be."""
        before = self.why_not_ready(namespace)
        if await self._may_create(TASKRUNS, namespace) and await self._may_create(PODS, namespace):
            del self._negative_checks[namespace]
        else:
            self._negative_checks[namespace] += 1
        after = self.why_not_ready(namespace)
        if after == before:
            return False
        _LOG.info("namespace %s: %s", namespace, after or "it is set up")
        return True

    async def _may_create(self, resource: Resource, namespace: str) -> bool:
        attributes = {"namespace": namespace, "verb": "create", "group": resource.group, "resource": resource.plural}
        body = {
            "apiVersion": SELF_ACCESS_REVIEWS.api_version,
            "kind": SELF_ACCESS_REVIEWS.kind,
            "spec": {"resourceAttributes": attributes},
        }
        review = await self._api.create(SELF_ACCESS_REVIEWS, None, body)
        return bool(review.get("status", {}).get("allowed"))


def _enqueue(users: Sequence[NamespaceUser], namespace: str) -> None:
    for user in users:
        for key in [key for key in user.object_keys() if key.namespace == namespace]:
            user.enqueue(key)


def not_ready_message(namespace: str, home: str) -> str:
    """The problem and the commands that fix it. They leave existing objects as they are."""
    kubectl = f"kubectl -n {namespace} create"
    return (
        f"namespace {namespace} is not set up for workflows: the operator may not create TaskRuns and pods in it. "
        f"Set it up as docs/getting-started.md describes, or run: {kubectl} serviceaccount {constants.TASK_ACCOUNT}; "
        f"{kubectl} rolebinding torpor-task --clusterrole=torpor-task "
        f"--serviceaccount={namespace}:{constants.TASK_ACCOUNT}; "
        f"{kubectl} rolebinding torpor-archive-namespace --clusterrole=torpor-archive-namespace "
        f"--serviceaccount={home}:torpor-archive; "
        f"{kubectl} rolebinding torpor-triggerer-namespace --clusterrole=torpor-triggerer-namespace "
        f"--group=system:serviceaccounts:{home}; "
        f"{kubectl} rolebinding torpor-triggerer-watch --clusterrole=torpor-triggerer-watch "
        f"--serviceaccount={home}:torpor-triggerer; "
        f"{kubectl} rolebinding torpor-operator --clusterrole={_ROLE} --serviceaccount={home}:{_ACCOUNT}"
    )
