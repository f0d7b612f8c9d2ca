"""Finds out which namespaces are set up for workflows, so that the operator may create TaskRuns and pods in them.

A namespace opts in by a RoleBinding (manifests/namespace). The operator checks its permissions in a namespace after the
API server has refused a write there, until they suffice. A new API server refuses everything until it has read the
roles, so a namespace counts as not ready only after two negative checks in a row.
"""

import logging
from collections.abc import Callable, Collection
from typing import Never

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import PODS, SELF_ACCESS_REVIEWS, TASKRUNS, Resource
from torpor_wire import constants

_LOG = logging.getLogger(__name__)
_INTERVAL = 2.0
_CHECKS_PER_ROUND = 10
_NEGATIVE_CHECKS = 2
_ROLE = "torpor-operator-namespace"
_ACCOUNT = "torpor-operator"


class Namespaces:
    """`home` is the operator's own namespace, `in_use` returns those with Workflows.

    `on_change` takes each namespace that becomes ready or ceases to be.
    """

    def __init__(
        self, api: Api, home: str, *, in_use: Callable[[], Collection[str]], on_change: Callable[[str], None]
    ) -> None:
        self._api = api
        self._home = home
        self._in_use = in_use
        self._on_change = on_change
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

    async def run(self) -> Never:
        """Check some namespaces in each round, in turn, forever."""
        while True:
            for namespace in self._next_round():
                try:
                    await self._check(namespace)
                except errors.ApiError as error:
                    _LOG.warning("cannot check whether namespace %s is set up: %s", namespace, error.message)
            await self._api.clock.sleep(_INTERVAL)

    def _next_round(self) -> list[str]:
        in_use = self._in_use()
        kept = [(namespace, checks) for namespace, checks in self._negative_checks.items() if namespace in in_use]
        chosen = [namespace for namespace, _ in kept[:_CHECKS_PER_ROUND]]
        self._negative_checks = dict([*kept[_CHECKS_PER_ROUND:], *kept[:_CHECKS_PER_ROUND]])
        return chosen

    async def _check(self, namespace: str) -> None:
        before = self.why_not_ready(namespace)
        if await self._may_create(TASKRUNS, namespace) and await self._may_create(PODS, namespace):
            del self._negative_checks[namespace]
        else:
            self._negative_checks[namespace] += 1
        after = self.why_not_ready(namespace)
        if after != before:
            _LOG.info("namespace %s: %s", namespace, after or "it is set up")
            self._on_change(namespace)

    async def _may_create(self, resource: Resource, namespace: str) -> bool:
        attributes = {"namespace": namespace, "verb": "create", "group": resource.group, "resource": resource.plural}
        body = {
            "apiVersion": SELF_ACCESS_REVIEWS.api_version,
            "kind": SELF_ACCESS_REVIEWS.kind,
            "spec": {"resourceAttributes": attributes},
        }
        review = await self._api.create(SELF_ACCESS_REVIEWS, None, body)
        return bool(review.get("status", {}).get("allowed"))


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
