"""Answers the queries of a plan: the value of an expression, or whether an object that the cache lacks still exists."""

import asyncio
from collections.abc import Callable, Iterable
from typing import assert_never

from pydantic import ValidationError
from torpor_crds.models import template as templates
from torpor_crds.models.taskrun import parse
from torpor_expressions.errors import ExpressionError, ExpressionReason
from torpor_expressions.evaluator import Evaluating, EvaluatorUnavailable
from torpor_expressions.value import Value
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.decoding import UNREADABLE
from torpor_kubernetes.client.resources import (
    ACCOUNTS,
    CLUSTER_TEMPLATES,
    CONFIG_MAPS,
    NAMESPACES,
    PODS,
    TASKRUNS,
    TEMPLATES,
    WORKFLOWS,
)
from torpor_wire import constants
from torpor_wire.objects import account_mark

from torpor_operator.controller.archive import NotArchivedError
from torpor_operator.controller.archive_queries import NO_ARCHIVE, ArchiveQueries
from torpor_operator.controller.cluster_cache import ClusterCache
from torpor_operator.controller.reads.pod_warnings import PodWarningReads
from torpor_operator.model import pod, stored_objects
from torpor_operator.model.actions import (
    ConfirmArchived,
    ConfirmLogs,
    ConfirmPod,
    ConfirmPods,
    ConfirmRun,
    ConfirmTaskRun,
    Evaluate,
    Need,
    ReadAccount,
    ReadClaimWarning,
    ReadConfigMap,
    ReadNamespace,
    ReadPodWarning,
    ReadTemplate,
)
from torpor_operator.model.snapshot import (
    AccountUse,
    Answer,
    NamespaceFacts,
    Presence,
    RunNotArchived,
    SettledLogs,
    TemplateSource,
    UnreadableTemplate,
)
from torpor_operator.model.step_parts import CombineSteps
from torpor_operator.taskrun.builder import is_named_for_its_spec

_CONCURRENCY = 32
_NAMESPACE_SECONDS = 5.0
"""How long what was read of a namespace is used again."""
_NAMESPACES_MAX = 1_000
_NO_CLUSTER_TEMPLATES = (
    "this installation of Torpor has no right to read ClusterWorkflowTemplates; an administrator can bind ClusterRole "
    "torpor-cluster-template-view to its operator by a ClusterRoleBinding"
)


class QueryResolver:
    """Resolves queries, several at a time. Raises errors.Unavailable if an answer is not available at the moment.

    `on_forbidden` takes a namespace in which a read was refused for lack of a role. Without `has_accounts` there are no
    ServiceAccounts: tasks may name any.
    """

    def __init__(  # noqa: PLR0913 - all that answers
        self,
        api: Api,
        cluster: ClusterCache,
        evaluator: Evaluating,
        archive: ArchiveQueries = NO_ARCHIVE,
        *,
        on_forbidden: Callable[[str], None] = lambda _: None,
        has_accounts: bool = True,
    ) -> None:
        self._has_accounts = has_accounts
        self._on_forbidden = on_forbidden
        self._api = api
        self._cluster = cluster
        self._evaluator = evaluator
        self._archive = archive
        self._warnings = PodWarningReads(api)
        self._namespaces: dict[str, tuple[float, NamespaceFacts]] = {}

    async def resolve(self, queries: Iterable[Need], *, namespace: str = "") -> dict[Need, Answer]:
        """The answer to each query. Evaluations count against the share of `namespace`."""
        pending, concurrency = list(queries), asyncio.Semaphore(_CONCURRENCY)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._resolve(query, concurrency, namespace)) for query in pending]
        except ExceptionGroup as several:
            raise several.exceptions[0] from several
        return {query: task.result() for query, task in zip(pending, tasks, strict=True)}

    async def _resolve(self, query: Need, concurrency: asyncio.Semaphore, namespace: str) -> Answer:  # noqa: C901, PLR0912 - a case a need
        async with concurrency:
            match query:
                case Evaluate():
                    return await self._evaluate(query, namespace)
                case ReadConfigMap():
                    return await self._read_config_map(query)
                case ReadTemplate():
                    return await self._read_template(query)
                case ReadNamespace():
                    return await self._read_namespace(query)
                case ReadAccount():
                    return await self._read_account(query)
                case ConfirmArchived():
                    return await self._confirm_archived(query)
                case CombineSteps():
                    return await self._archive.combine(query)
                case ConfirmTaskRun():
                    return await self._confirm_taskrun(query)
                case ConfirmRun():
                    return await self._confirm_run(query)
                case ConfirmPod():
                    return await self._confirm_pod(query)
                case ConfirmPods():
                    return await self._confirm_pods(query)
                case ConfirmLogs():
                    return SettledLogs(self._archive.settled_logs(query.namespace, query.pods))
                case ReadPodWarning():
                    return await self._warnings.of_pod(query)
                case ReadClaimWarning():
                    return await self._warnings.of_claims(query)
                case _:
                    assert_never(query)

    async def _evaluate(self, query: Evaluate, namespace: str) -> Answer:
        try:
            return await self._evaluator.evaluate(query.expression, query.variables, share=namespace)
        except EvaluatorUnavailable as error:
            raise errors.ApiUnavailable(str(error)) from error

    async def _read_config_map(self, query: ReadConfigMap) -> Answer:
        try:
            stored = await self._api.get(CONFIG_MAPS, query.namespace, query.name)
        except errors.Forbidden as error:
            if error.lacks_role:
                self._on_forbidden(query.namespace)
            raise
        except errors.NotFound:
            message = f"ConfigMap {query.name} of {query.field} does not exist"
            return ExpressionError(reason=ExpressionReason.FAILED, message=message)
        return Value(json=stored_objects.config_map_data(stored, query.key))

    async def _read_template(self, query: ReadTemplate) -> Answer:
        resource = TEMPLATES if query.namespace else CLUSTER_TEMPLATES
        try:
            stored = await self._api.get(resource, query.namespace or None, query.name)
        except errors.NotFound:
            return Presence.GONE
        except errors.Forbidden as error:
            if query.namespace or not error.lacks_role:
                raise
            return UnreadableTemplate(_NO_CLUSTER_TEMPLATES)
        if UNREADABLE in stored:
            return UnreadableTemplate(str(stored[UNREADABLE]))
        parse_template = templates.parse if query.namespace else templates.parse_of_cluster
        try:
            return TemplateSource(parse_template(stored), dict(stored["spec"]["workflow"]))
        except ValidationError as error:
            return UnreadableTemplate("; ".join(stored_objects.first_problems(error)))

    async def _read_namespace(self, query: ReadNamespace) -> Answer:
        now = self._api.clock.monotonic()
        read, facts = self._namespaces.get(query.name, (now - _NAMESPACE_SECONDS, NamespaceFacts()))
        if now < read + _NAMESPACE_SECONDS:
            return facts
        try:
            stored = await self._api.get(NAMESPACES, None, query.name)
        except errors.Forbidden as error:
            if error.lacks_role:
                self._on_forbidden(query.name)
            raise
        except errors.NotFound:
            return NamespaceFacts()
        facts = stored_objects.namespace_facts(stored["metadata"])
        if len(self._namespaces) >= _NAMESPACES_MAX:
            self._namespaces.clear()
        self._namespaces[query.name] = now, facts
        return facts

    async def _read_account(self, query: ReadAccount) -> AccountUse:
        if not self._has_accounts:
            return AccountUse.ALLOWED
        try:
            stored = await self._api.get(ACCOUNTS, query.namespace, query.name)
        except errors.Forbidden as error:
            if error.lacks_role:
                self._on_forbidden(query.namespace)
            raise
        except errors.NotFound:
            return AccountUse.NO_ACCOUNT
        return AccountUse.ALLOWED if account_mark.allows_tasks(stored) else AccountUse.NOT_ALLOWED

    async def _confirm_archived(self, query: ConfirmArchived) -> Answer:
        try:
            has_run = await self._archive.has_run(query.namespace, query.uid, query.completed)
        except NotArchivedError as error:
            return RunNotArchived(str(error))
        return Presence.PRESENT if has_run else Presence.GONE

    async def _confirm_taskrun(self, query: ConfirmTaskRun) -> Presence:
        try:
            stored = await self._api.get(TASKRUNS, query.namespace, query.name)
        except errors.NotFound:
            return Presence.GONE
        if not _is_readable(stored):
            return Presence.UNREADABLE
        if not is_named_for_its_spec(parse(stored)):
            return Presence.GONE
        self._cluster.taskruns.store.absorb(stored)
        return Presence.PRESENT

    async def _confirm_run(self, query: ConfirmRun) -> Presence:
        try:
            stored = await self._api.get(WORKFLOWS, query.namespace, query.name)
        except errors.NotFound:
            return Presence.GONE
        if ((stored.get("spec") or {}).get("parent") or {}).get("uid") != query.parent:
            return Presence.GONE  # another Workflow has its name
        return Presence.UNREADABLE if self._cluster.store_workflow(stored) else Presence.PRESENT

    async def _confirm_pod(self, query: ConfirmPod) -> Presence:
        gone = Presence.DISRUPTED if query.uid in self._cluster.disrupted_pods else Presence.GONE
        try:
            stored = await self._api.get(PODS, query.namespace, query.name)
        except errors.NotFound:
            return gone
        if stored["metadata"]["uid"] != query.uid:
            return gone
        if _is_watched(stored):
            self._cluster.pods.store.absorb(stored)
        elif pod.parse_pod(stored).terminal:
            return Presence.GONE
        return Presence.PRESENT

    async def _confirm_pods(self, query: ConfirmPods) -> Presence:
        selector = f"{constants.LABEL_TASKRUN_UID}={query.taskrun_uid}"
        page = await self._api.list(PODS, query.namespace, label_selector=selector)
        for stored in page.items:
            self._cluster.pods.store.absorb(stored)
        self._cluster.unconfirmed_pods.pop(query.taskrun_uid, None)
        return Presence.PRESENT if page.items else Presence.GONE


def _is_watched(stored: Object) -> bool:
    """Whether the watch reports the end of the pod: not if somebody removed its label or its owner."""
    return constants.LABEL_TASKRUN_UID in stored["metadata"].get("labels", {}) and pod.parse_pod(stored).owner_uid != ""


def _is_readable(stored: Object) -> bool:
    try:
        parse(stored)
    except ValueError:
        return False
    return True
