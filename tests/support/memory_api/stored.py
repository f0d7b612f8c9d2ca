"""The API server's part of the world: what is stored, what an action makes of it, and what a read would answer."""

import itertools
from collections.abc import Callable, Mapping
from typing import assert_never

from torpor_crds.models.archive import ArchiveEndpoint
from torpor_crds.models.taskrun import TaskRun, parse
from torpor_expressions.value import JSON
from torpor_local.apiserver import json_patch
from torpor_operator.model.actions import (
    Action,
    ArchiveRun,
    CopyTemplate,
    CreatePod,
    CreateTaskRun,
    DeletePod,
    DeleteTaskRun,
    DeleteWorkflow,
    Evaluate,
    Need,
    PatchTaskRun,
    PostEvent,
    ReadPodWarning,
    RemoveAnnotation,
    RemovePodFinalizer,
    RemoveSchedulingGate,
    ResumeRun,
    SetFinalizers,
)
from torpor_operator.model.child_run_actions import ChangeChildRun, CreateChildRun, MoveChildRun
from torpor_operator.model.snapshot import (
    AccountUse,
    Answer,
    ArchiveOutcome,
    NamespaceFacts,
    PodWarning,
    RunArchived,
    RunNotArchived,
    TriggerPool,
)
from torpor_operator.model.step_parts import StepsCombined, StepsNotCombined
from torpor_operator.taskrun import pod_builder
from torpor_wire import constants, times
from torpor_wire.index_ranges import Indexes
from torpor_wire.instance_paths import Path
from torpor_wire.transitions import Patch

from tests.support import builders
from tests.support.builders import Body
from tests.support.memory_api import answers


class Stored:
    """A Workflow, its TaskRuns and their pods, as JSON by name."""

    def __init__(self, workflow: Body) -> None:
        self.workflow = workflow
        self.taskruns: dict[str, Body] = {}
        self.pods: dict[str, Body] = {}
        self.children: dict[str, Body] = {}  # Workflows that tasks have started
        self.runs_of_root = 0
        self.awaited = False
        self.deleted = False
        self.graceful = False  # a deleted pod stays, terminating
        self.unseen: set[str] = set()  # what exists and is not in the operator's store yet, by name
        self.unreadable: set[str] = set()
        self.disrupted_pods: set[str] = set()  # uids of pods that were last seen as disrupted
        self.unconfirmed_pods: dict[str, str] = {}  # by uid of the TaskRun: a pod whose creation was not answered
        self.created: dict[str, dict[Path, Indexes]] = {}  # instances the operator saw, whatever the status says
        self.templates: dict[str, Body] = {}  # WorkflowTemplates by name
        self.cluster_templates: dict[str, Body] = {}  # ClusterWorkflowTemplates by name
        self.variables: dict[str, dict[str, str]] = {}  # ConfigMaps by name
        self.slots: dict[str, int] = {}  # free slots of pools
        self.holders: set[str] = set()  # names of TaskRuns that have one
        self.archive: ArchiveEndpoint | None = None
        self.archive_error = ""
        self.uploads: dict[tuple[int, str], ArchiveOutcome] = {}  # by clears and completion time
        self.archived: list[str] = []  # the completion time of the run at each upload
        self.settled_logs: frozenset[str] = frozenset()  # uids of pods
        self.confirmed: list[Need] = []
        self.namespace = NamespaceFacts()
        self.accounts: dict[str, AccountUse] = {}  # ServiceAccounts that tasks may not use, by name
        self.claim_warning = PodWarning()
        self.combined: StepsCombined | StepsNotCombined = StepsNotCombined(message="no archive", is_final=True)
        self.evaluated: list[Evaluate] = []
        self.warnings: dict[str, PodWarning] = {}  # by uid of the pod
        self.looks: set[ReadPodWarning] = set()  # whose Events were read, and at which look
        self.pools: Callable[[str], TriggerPool] = lambda _: TriggerPool()
        self._numbers = itertools.count(1)

    def visible(self, items: dict[str, Body]) -> list[Body]:
        """Those that the operator sees."""
        hidden = self.unseen | self.unreadable
        return [body for name, body in sorted(items.items()) if name not in hidden]

    def _start(self, added: Mapping[str, JSON]) -> None:
        ops = [{"op": "add", "path": path, "value": value} for path, value in added.items()]
        self.workflow["spec"] = json_patch.apply(self.workflow, ops)["spec"]
        self.workflow["metadata"]["generation"] += bool(ops)

    def act(self, action: Action, now: float) -> None:  # noqa: C901, PLR0912, PLR0915 - a case an action
        """Carry out one action, as the API server would."""
        match action:
            case CreateTaskRun(body=body):
                self._create_taskrun(body, now)
            case CreatePod(taskrun=run, body=body):
                self._create_pod(run, body, now)
            case DeletePod(name=name, uid=uid):
                self.delete_pod(name, uid, now)
            case RemoveSchedulingGate(name=name, gates=gates, outcome_max=outcome_max):
                self._remove_scheduling_gate(name, gates, outcome_max)
            case RemovePodFinalizer(name=name, finalizers=finalizers):
                self._let_go(name, finalizers)
            case PatchTaskRun(taskrun=run, patch=patch, ended_pods=ended):
                self.patch(run, patch)
                for pod in ended:
                    self.delete_pod(pod.name, pod.uid, now)
            case DeleteTaskRun(name=name, uid=uid):
                self._delete_taskrun(name, uid, now)
            case RemoveAnnotation(name=name, value=value):
                annotations = self.workflow["metadata"]["annotations"]
                if annotations.get(name) == value:
                    del annotations[name]
            case ResumeRun():
                self.workflow["spec"] |= {"stop": False, "cancel": False}
            case SetFinalizers(finalizers=finalizers, defaults=defaults, additions=additions):
                self.workflow["metadata"]["finalizers"] = list(finalizers)
                self._start(dict(additions) | ({} if defaults is None else {"/spec/defaults": dict(defaults)}))
                self.deleted |= not finalizers and "deletionTimestamp" in self.workflow["metadata"]
            case CopyTemplate(fields=fields, finalizers=finalizers):
                self.workflow["metadata"]["finalizers"] = list(finalizers)
                self.workflow["spec"] |= fields
                self.workflow["metadata"]["generation"] += 1
            case CreateChildRun(body=body):
                name = body["metadata"]["name"]
                self.children.setdefault(name, builders.created(body, f"run-{next(self._numbers)}", now, {}))
                self.unseen.discard(name)
            case ChangeChildRun(run=run, fields=fields, by_parent=by_parent):
                child = self.children[run.metadata.name]
                child["spec"] |= fields
                if by_parent is not None:
                    mark = {constants.SUSPENDED_BY_PARENT: "true"} if by_parent else {}
                    child["metadata"]["annotations"] = mark
            case MoveChildRun(run=run, parent=parent, owners=owners):
                child = self.children[run.metadata.name]
                child["spec"]["parent"] |= parent
                child["metadata"]["ownerReferences"] = [*owners]
            case DeleteWorkflow():
                self.delete_workflow(now)
            case ArchiveRun():
                self._archive_run(now)
            case PostEvent():
                pass
            case _:
                assert_never(action)

    def _archive_run(self, now: float) -> None:
        version = self._version()
        if self.archive_error:
            self.uploads[version] = RunNotArchived(self.archive_error, now + 30)
        else:
            self.archived.append(version[1])
            self.uploads[version] = RunArchived()

    def archive_outcome(self) -> ArchiveOutcome | None:
        """The outcome of the upload that the status does not have yet."""
        conditions = self.workflow.get("status", {}).get("conditions", [])
        if any((condition["type"], condition["status"]) == ("Archived", "True") for condition in conditions):
            self.uploads.clear()
        return self.uploads.get(self._version())

    def _version(self) -> tuple[int, str]:
        status = self.workflow.get("status", {})
        return status.get("clears", 0), status.get("completionTime", "")

    def patch(self, run: TaskRun, patch: Patch) -> None:
        body = json_patch.apply(self.taskruns[run.metadata.name], patch)
        body["status"] = {name: value for name, value in body["status"].items() if value is not None}
        self.taskruns[run.metadata.name] = body

    def _create_taskrun(self, body: Body, now: float) -> None:
        name = body["metadata"]["name"]
        if name in self.taskruns:
            self.unseen.discard(name)
            return
        self.taskruns[name] = builders.created(body, f"taskrun-{next(self._numbers)}", now, builders.FRESH)

    def _create_pod(self, run: TaskRun, body: Body, now: float) -> None:
        name = body["metadata"]["name"]
        if name in self.pods:
            self.unseen.discard(name)
            return
        if run.metadata.name in self.taskruns:
            if run.spec.container is not None:  # as the executor does
                body = pod_builder.completed(body, parse(self.taskruns[run.metadata.name]), now, f"nonce-{name}")
            self.pods[name] = builders.created(body, f"pod-{next(self._numbers)}", now, {"phase": "Pending"})

    def _delete_taskrun(self, name: str, uid: str, now: float) -> None:
        """In the foreground: it stays until its pods have gone."""
        metadata = self.taskruns[name]["metadata"]
        if metadata["uid"] != uid:
            return
        metadata["deletionTimestamp"] = times.rfc3339(now)
        for pod in [
            pod["metadata"] for pod in self.pods.values() if pod["metadata"]["ownerReferences"][0]["uid"] == uid
        ]:
            self.delete_pod(pod["name"], pod["uid"], now)
        self.collect()

    def collect(self) -> None:
        """The garbage collector: a TaskRun that was deleted goes after its pods, and its runs go with it."""
        owners = {pod["metadata"]["ownerReferences"][0]["uid"] for pod in self.pods.values()}
        self.taskruns = {
            name: body
            for name, body in self.taskruns.items()
            if "deletionTimestamp" not in body["metadata"] or body["metadata"]["uid"] in owners
        }
        kept = {self.workflow["metadata"]["uid"], *(body["metadata"]["uid"] for body in self.taskruns.values())}
        self.children = {
            name: body
            for name, body in self.children.items()
            if all(owner["uid"] in kept for owner in body["metadata"].get("ownerReferences", []))
        }

    def delete_pod(self, name: str, uid: str, now: float) -> None:
        pod = self.pods.get(name)
        if pod is None or pod["metadata"]["uid"] != uid:
            return
        if self.graceful or pod["metadata"].get("finalizers"):
            pod["metadata"]["deletionTimestamp"] = times.rfc3339(now)
        else:
            del self.pods[name]

    def _remove_scheduling_gate(self, name: str, seen: tuple[str, ...], outcome_max: int | None) -> None:
        spec = self.pods[name]["spec"]
        if outcome_max is not None:
            self.pods[name]["metadata"]["annotations"][constants.OUTCOME_MAX] = str(outcome_max)
        assert spec["schedulingGates"] == [{"name": gate} for gate in seen]
        spec["schedulingGates"] = [{"name": gate} for gate in seen if gate != constants.POD_GATE]

    def _let_go(self, name: str, seen: tuple[str, ...]) -> None:
        metadata = self.pods[name]["metadata"]
        assert metadata["finalizers"] == list(seen)
        metadata["finalizers"] = [finalizer for finalizer in seen if finalizer != constants.POD_FINALIZER]
        if "deletionTimestamp" in metadata and not metadata["finalizers"]:
            del self.pods[name]

    def answer(self, need: Need) -> Answer:
        """What a read would answer."""
        return answers.answer(self, need)

    def terminate(self, name: str) -> None:
        """The kubelet has stopped a pod that was to end; a finalizer may keep the object."""
        pod = self.pods[name]
        if not pod["metadata"].get("finalizers"):
            del self.pods[name]
        elif not pod["spec"].get("schedulingGates"):
            pod["status"] = {"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 137}}}]}

    def delete_workflow(self, now: float) -> None:
        self.workflow["metadata"]["deletionTimestamp"] = times.rfc3339(now)
        self.deleted = not self.workflow["metadata"]["finalizers"]
