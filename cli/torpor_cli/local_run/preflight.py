"""What of a Workflow a local run refuses, and what it ignores. Pure but for the view of the machine."""

import dataclasses
import os
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torpor_wire import constants, secret_ref
from torpor_wire.trigger import APPROVAL

from torpor_cli.local_run import folders, given, missing_variables, object_tasks
from torpor_cli.local_run.workflow_file import WorkflowFile

if TYPE_CHECKING:
    from torpor_local.options import GivenAnswer

Object = Mapping[str, Any]
_POD_FIELDS = (
    "resources",
    "volumes",
    "volumeMounts",
    "serviceAccountName",
    "serviceAccountToken",
    "imagePullSecrets",
    "nodeSelector",
    "tolerations",
    "affinity",
    "topologySpreadConstraints",
    "priorityClassName",
    "runtimeClassName",
    "dnsPolicy",
    "dnsConfig",
    "hostAliases",
    "resourceClaims",
)
"""The fields of `pod` without an effect."""
_SPEC_FIELDS = ("ttlAfterFinished", "podsTTL")
"""Fields that would delete what a local run leaves."""
_DOCUMENTS = frozenset({"ConfigMap", "WorkflowTemplate", "ClusterWorkflowTemplate"})
"""The kinds of objects beside the Workflow that a run can use."""
_CLUSTER_TRIGGERS = {
    "approval": "waits for an approval within another trigger, which a user gives in a cluster",
    "kubernetes": "waits for an object of a cluster",
    "taskrun": "waits for a TaskRun of a cluster",
    "workflow": "waits for another Workflow, and a local run has one",
}
"""Why the triggers of these classes never fire in a local run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """Sentences about what is refused, and the fields that are ignored, each with its tasks."""

    refused: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineCapabilities:
    """What the machine and the command line offer. `events` are names of tasks."""

    events: Collection[str] = ()
    answers: "Mapping[str, GivenAnswer]" = dataclasses.field(default_factory=dict)
    """The answers to approvals by task, or as `load/3`."""
    containers: bool = False
    """Whether docker or podman is installed."""
    triggers: Collection[str] | None = None
    """The names of all trigger classes; None if they are not known."""
    variables: Collection[str] = ()
    """The names of the variables of the user that tasks get. They replace those from Secrets."""


def check(spec: Object, others: Sequence[Object], machine: MachineCapabilities) -> Preflight:
    """Return what a local run of a Workflow's spec refuses and ignores. `others` are the other objects of the file."""
    spec = _with_defaults(spec)
    tasks = list(spec.get("tasks") or ())
    refused = [sentence for task in tasks for sentence in (*_refused(task, machine), *_refused_image(task, spec))]
    refused += [sentence for task in tasks for sentence in missing_variables.sentences(task, others, machine.variables)]
    refused += object_tasks.refusals(spec, others, machine.events)
    refused += _missing_code(spec, others)
    if spec.get("volumeClaims"):
        refused.append("spec.volumeClaims are volumes of a cluster, which a local run does not have; use a cluster")
    variables = spec.get("variablesFrom")
    if variables and variables not in folders.by_name(others, "ConfigMap"):
        refused.append(f"variablesFrom names ConfigMap {variables}, which the file does not have; add it as a document")
    return Preflight(refused=tuple(refused), ignored=tuple(_ignored(spec, tasks, others)))


def _with_defaults(spec: Object) -> Object:
    """The spec whose tasks have its defaults."""
    if not spec.get("defaults"):
        return spec
    from torpor_crds.models import workflow  # noqa: PLC0415 - pydantic takes long to import

    parsed = workflow.parse({"metadata": {"name": "run"}, "spec": spec}).spec
    return {**spec, "image": parsed.image, "tasks": [task.to_json() for task in parsed.tasks]}


def of_file(
    file: WorkflowFile,
    events: Collection[str],
    own_triggers: Collection[str] = (),
    answers: "Mapping[str, GivenAnswer] | None" = None,
) -> Preflight:
    """Return what a local run of a file refuses and ignores on this machine.

    `events` are tasks, or `load/3`. `own_triggers` are names of trigger classes beside the built-in ones.
    """
    from torpor_local.pods import variables  # noqa: PLC0415 - an extra of this package
    from torpor_triggerer.usercode.registry import BUILT_IN  # noqa: PLC0415 - an extra of this package

    containers = any(shutil.which(tool) for tool in ("docker", "podman"))
    answered = {name.partition("/")[0] for name in events}
    machine = MachineCapabilities(
        events=answered,
        answers=answers or {},
        containers=containers,
        triggers=BUILT_IN.keys() | set(own_triggers),
        variables=variables.inherited(os.environ).keys(),
    )
    return check(file.spec(), file.others, machine)


def _refused(task: Object, machine: MachineCapabilities) -> Iterator[str]:
    name = task["name"]
    if "container" in task and not machine.containers:
        yield f"task {name} is a container, which needs docker or podman; neither is installed"
    if (task.get("container") or {}).get("tools"):
        yield f"task {name} has container.tools, and a local run has no torpor-tool; run the Workflow in a cluster"
    yield from _refused_pod(task)
    if "trigger" not in task or name in machine.events:
        return
    if task["trigger"].get("class") == APPROVAL:
        yield from _refused_approval(task, machine)
        return
    answer = f"answer it with --event {name}='{{...}}'"
    for trigger in _triggers(task["trigger"]):
        class_name = trigger.get("class", "")
        if why := _CLUSTER_TRIGGERS.get(class_name):
            yield f"task {name} {why}; {answer}"
        elif machine.triggers is not None and class_name not in machine.triggers:
            yield (
                f"task {name}: no built-in trigger class is called {class_name}; name yours with "
                f"--trigger {class_name}=MODULE:CLASS, or {answer}"
            )
        elif secret_ref.is_claimed(_own(trigger)):
            yield f"task {name} reads a Secret or a ConfigMap, and a local run has neither; {answer}"


def _refused_approval(task: Object, machine: MachineCapabilities) -> Iterator[str]:
    name = task["name"]
    if any(answer.partition("/")[0] == name for answer in machine.answers):
        yield from given.problems(task, machine.answers)
    else:
        yield f"task {name} waits for an approval; answer it with --answer {name}=approved, or rejected"


def _refused_pod(task: Object) -> Iterator[str]:
    """Yield the containers beside that of the task, and privileges: a local run has neither."""
    name, pod = task["name"], task.get("pod") or {}
    if (task.get("container") or {}).get("steps"):
        yield f"task {name} has container.steps, and a local run starts one container; run the Workflow in a cluster"
    for field in ("initContainers", "sidecars"):
        if pod.get(field):
            yield f"task {name} has pod.{field}, and a local run starts one container; run the Workflow in a cluster"
    if privilege := _privilege(pod.get("securityContext") or {}):
        yield f"task {name} has pod.securityContext.{privilege}, and a local run gives no privileges: use a cluster"


def _privilege(context: Object) -> str:
    """Return the field that asks for privileges; empty if none does."""
    wanted = {
        "privileged": context.get("privileged"),
        "allowPrivilegeEscalation": context.get("allowPrivilegeEscalation"),
        "capabilities": context.get("capabilities"),
        "runAsUser": context.get("runAsUser") == 0,
    }
    return next((field for field, value in wanted.items() if value), "")


def _refused_image(task: Object, spec: Object) -> Iterator[str]:
    """Yield what is wrong with the image of a container, which docker would take for an option."""
    from torpor_local.pods import program  # noqa: PLC0415 - an extra of this package

    image = task.get("image") or spec.get("image")
    if "container" in task and image and "${" not in str(image) and (problem := program.image_problem(str(image))):
        yield f"task {task['name']}: {problem}"


def _missing_code(spec: Object, others: Sequence[Object]) -> Iterator[str]:
    """Yield the ConfigMaps of `source` that do not exist. The folders beside the file are among the others."""
    for name in dict.fromkeys(folders.names(spec)):
        if name not in folders.by_name(others, "ConfigMap"):
            yield f"source names ConfigMap {name}: add it to the file, or put its files into a folder {name} beside it"


def _triggers(trigger: Object) -> Iterator[Object]:
    """Yield a trigger, and those in the `triggers` of `any_of` and `all_of`."""
    yield trigger
    inner = (trigger.get("kwargs") or {}).get("triggers")
    for part in inner if isinstance(inner, list) else ():
        if isinstance(part, Mapping):
            yield from _triggers(part)


def _own(trigger: Object) -> Object:
    return {name: value for name, value in (trigger.get("kwargs") or {}).items() if name != "triggers"}


def _ignored(spec: Object, tasks: Sequence[Object], others: Sequence[Object]) -> Iterator[str]:
    """Yield each field without an effect, with the tasks that have it."""
    of_python = [task for task in tasks if "python" in task]
    if any(spec.get("image") or task.get("image") for task in of_python):
        yield "image of Python tasks"
    yield from (field for field in _SPEC_FIELDS if field in spec)
    if not has_pools(others):
        yield from _of_tasks("pool", [task["name"] for task in tasks if "pool" in task])
    for field in _POD_FIELDS:
        yield from _of_tasks(f"pod.{field}", [task["name"] for task in tasks if (task.get("pod") or {}).get(field)])
    yield from _of_tasks(
        "pod.workingDir", [task["name"] for task in of_python if (task.get("pod") or {}).get("workingDir")]
    )
    missing = {task["name"]: list(_missing_sources(task, others)) for task in tasks}
    for source in dict.fromkeys(source for sources in missing.values() for source in sources):
        yield from _of_tasks(source, [name for name, sources in missing.items() if source in sources])
    for item in others:
        if item.get("kind") not in _DOCUMENTS:
            yield f"{item.get('kind')} {(item.get('metadata') or {}).get('name', '')}".strip()


def _of_tasks(field: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"{field} ({', '.join(names)})"


def _missing_sources(task: Object, others: Sequence[Object]) -> Iterator[str]:
    """Yield the Secrets and the missing ConfigMaps of the environment of a task."""
    pod = task.get("pod") or {}
    variables = [variable.get("valueFrom") or {} for variable in pod.get("env") or ()]
    for reference, kind in (("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")):
        yield from _absent(
            "env", kind, [source[reference]["name"] for source in variables if reference in source], others
        )
    every = list(pod.get("envFrom") or ())
    for reference, kind in (("secretRef", "Secret"), ("configMapRef", "ConfigMap")):
        yield from _absent(
            "envFrom", kind, [source[reference]["name"] for source in every if reference in source], others
        )


def _absent(field: str, kind: str, names: Sequence[str], others: Sequence[Object]) -> Iterator[str]:
    for name in names:
        if kind == "Secret" or name not in folders.by_name(others, kind):
            yield f"{kind} {name} of pod.{field}"


def has_pools(others: Sequence[Object]) -> bool:
    """Whether the file has the ConfigMap with the slots of pools."""
    return constants.POOLS_CONFIG in folders.by_name(others, "ConfigMap")


def documents(workflow: Object, others: Sequence[Object]) -> list[dict[str, Any]]:
    """Return the objects to play, without the fields that would stop a local run or delete what it leaves."""
    kept = [item for item in others if item.get("kind") in _DOCUMENTS]
    pools = has_pools(others)
    return [_localized(item, pools=pools) if "spec" in item else dict(item) for item in (*kept, workflow)]


def _localized(body: Object, *, pools: bool) -> dict[str, Any]:
    """Return a Workflow or a template without these fields."""
    spec = body["spec"]
    if "allowedNamespaces" in spec:  # a local run has no other namespaces
        spec = {**spec, "allowedNamespaces": {"selector": {}}}
    if isinstance(spec.get("workflow"), Mapping):
        return {**body, "spec": {**spec, "workflow": _without_fields(spec["workflow"], pools=pools)}}
    return {**body, "spec": _without_fields(spec, pools=pools)}


def _without_fields(spec: Object, *, pools: bool) -> dict[str, Any]:
    kept = {name: value for name, value in spec.items() if name not in _SPEC_FIELDS}
    tasks = [
        {name: value for name, value in task.items() if pools or name != "pool"} for task in spec.get("tasks") or ()
    ]
    return {**kept, "tasks": tasks} if tasks else kept
