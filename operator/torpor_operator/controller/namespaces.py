"""Which namespaces are set up for workflows: those where the operator may create TaskRuns and pods.

A namespace opts in by a RoleBinding (manifests/namespace). Nothing is asked about a namespace until the API server
has refused something there; then the operator asks what it may do, until it may. An API server that has just started
refuses everything until it has read the roles, so a namespace is called not ready only after two refusals.
"""

import logging
from collections.abc import Callable, Collection
from typing import Never

from torpor_api.client import errors
from torpor_api.client.api import Api
from torpor_api.client.resources import PODS, SELF_ACCESS_REVIEWS, TASKRUNS, Resource
from torpor_wire import constants

_LOG = logging.getLogger(__name__)
_EVERY = 2.0
_ROUND = 10
_REFUSALS = 2
_ROLE = "torpor-operator-namespace"
_ACCOUNT = "torpor-operator"


class Namespaces:
    """`home` is the operator's own namespace; `in_use` gives those that have Workflows.

    `on_change` is told of each namespace that has become ready, or is so no more.
    """

    def __init__(
        self, api: Api, home: str, *, in_use: Callable[[], Collection[str]], on_change: Callable[[str], None]
    ) -> None:
        self._api = api
        self._home = home
        self._in_use = in_use
        self._on_change = on_change
        self._refusals: dict[str, int] = {}
        """By namespace that is in doubt: how often in a row it was found not to be set up."""

    def missing(self, namespace: str) -> str:
        """What a namespace lacks and how to mend it, or nothing where it is ready or not known otherwise."""
        if self._refusals.get(namespace, 0) < _REFUSALS:
            return ""
        return sentence(namespace, self._home)

    def suspect(self, namespace: str) -> None:
        """The API server refused something there."""
        self._refusals.setdefault(namespace, 0)

    async def run(self) -> Never:
        """Ask about those in doubt, for ever: a few in each round, in turn."""
        while True:
            for namespace in self._round():
                try:
                    await self._look(namespace)
                except errors.ApiError as error:
                    _LOG.warning("cannot see whether namespace %s is set up: %s", namespace, error.message)
            await self._api.clock.sleep(_EVERY)

    def _round(self) -> list[str]:
        used = self._in_use()
        kept = [(namespace, refusals) for namespace, refusals in self._refusals.items() if namespace in used]
        chosen = [namespace for namespace, _ in kept[:_ROUND]]
        self._refusals = dict([*kept[_ROUND:], *kept[:_ROUND]])
        return chosen

    async def _look(self, namespace: str) -> None:
        before = self.missing(namespace)
        if await self._may_create(TASKRUNS, namespace) and await self._may_create(PODS, namespace):
            del self._refusals[namespace]
        else:
            self._refusals[namespace] += 1
        if self.missing(namespace) != before:
            _LOG.info("namespace %s: %s", namespace, self.missing(namespace) or "it is set up")
            self._on_change(namespace)

    async def _may_create(self, resource: Resource, namespace: str) -> bool:
        asked = {"namespace": namespace, "verb": "create", "group": resource.group, "resource": resource.plural}
        body = {
            "apiVersion": SELF_ACCESS_REVIEWS.api_version,
            "kind": SELF_ACCESS_REVIEWS.kind,
            "spec": {"resourceAttributes": asked},
        }
        answer = await self._api.create(SELF_ACCESS_REVIEWS, None, body)
        return bool(answer.get("status", {}).get("allowed"))


def sentence(namespace: str, home: str) -> str:
    """What is wrong, and the commands that mend it; what is there already they leave as it is."""
    kubectl = f"kubectl -n {namespace} create"
    return (
        f"namespace {namespace} is not set up for workflows: the operator may not create TaskRuns and pods in it. "
        f"Set it up as the README says, or run: {kubectl} serviceaccount {constants.TASK_ACCOUNT}; "
        f"{kubectl} rolebinding torpor-task --clusterrole=torpor-task "
        f"--serviceaccount={namespace}:{constants.TASK_ACCOUNT}; "
        f"{kubectl} rolebinding torpor-operator --clusterrole={_ROLE} --serviceaccount={home}:{_ACCOUNT}"
    )
