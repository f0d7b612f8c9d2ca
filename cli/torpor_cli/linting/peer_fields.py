"""Names the field of Torpor for a field of Argo, Tekton or Airflow. Pure."""

from collections.abc import Collection, Mapping

from torpor_cli.linting.finding import Path

_BESIDE: Mapping[str, str] = {
    **dict.fromkeys(("depends", "dependencies", "dependsOn", "depends_on", "upstream", "runAfter"), "after"),
    **dict.fromkeys(("triggerRule", "trigger_rule"), "rule"),
    **dict.fromkeys(("retryStrategy", "retry"), "retries"),
    **dict.fromkeys(("continueOn", "onError", "ignoreFailure"), "mayFail"),
    **dict.fromkeys(("withItems", "withParam", "withSequence", "matrix"), "expand"),
    **dict.fromkeys(("executionTimeout", "execution_timeout", "activeDeadlineSeconds", "timeouts"), "timeout"),
    **dict.fromkeys(("default_args", "templateDefaults", "stepTemplate"), "defaults"),
    **dict.fromkeys(("workflowTemplateRef", "pipelineRef"), "templateRef"),
    "archiveLogs": "logs",
    "arguments": "params",
    "expand_kwargs": "expandKwargs",
    "parallelism": "maxActive",
    "podGC": "podsTTL",
    "podSpecPatch": "pod",
    "source": "script",
    "synchronization": "pool",
    "ttlStrategy": "ttlAfterFinished",
    "type": "class",
    "volumeClaimTemplates": "volumeClaims",
}
"""What others call a field of the same object."""

_WORKFLOW = "the spec of a Workflow, also in a template or a Schedule"
_FILES = '"files" or "volumeClaims"'
_OF_POD = ("affinity", "hostAliases", "nodeSelector", "securityContext", "serviceAccountName", "tolerations", "volumes")
_OF_CONTAINER = ("envFrom", "resources", "securityContext", "volumeMounts", "workingDir")
_ELSEWHERE: Mapping[str, Mapping[str, str]] = {
    _WORKFLOW: {
        **dict.fromkeys(("onExit", "finally"), '"hook: end" of a task'),
        **dict.fromkeys(("entrypoint", "templates", "pipelineSpec"), '"tasks", each with its own program'),
        **{name: f'"defaults.pod.{name}"' for name in _OF_POD},
        "workspaces": _FILES,
    },
    "tasks": {
        **dict.fromkeys(
            ("template", "taskRef", "taskSpec"), '"container", "python", "trigger", "run", "object" or "http"'
        ),
        "arguments": '"args"',
        "inputs": '"args" or "files.in"',
        "daemon": '"pod.sidecars"',
        "onExit": '"rule: all_done" of a task after it',
        "outputs": '"container.result" or "files.out"',
        "withSequence": '"expand" over "${range(3)}"',
        "workspaces": '"files" or "pod.volumeMounts"',
    },
    "container": {"image": '"image" of the task', **{name: f'"pod.{name}" of the task' for name in _OF_CONTAINER}},
}
"""What others write in an object, by the field that holds it, and Torpor elsewhere."""

_FORMS: Mapping[tuple[str, str, str], str] = {
    ("params", "object", "array"): "write {NAME: VALUE}",
    ("args", "object", "array"): "the arguments of a program are container.args",
    ("when", "string", "array"): "write an expression, such as params.path in ['a', 'b']",
    ("retries", "object", "integer"): "write {limit: 2}",
    ("command", "array", "string"): "write a list, such as [echo, hello]",
    ("value", "string", "integer"): "quote it",
    ("args", "array", "string"): "write a list, such as [echo, hello]",
}
"""What to write for a field that others have as another JSON type: by its name, the wanted type, and the actual one."""


def form(path: Path, wanted: str, actual: str) -> str:
    """Return what to write instead of a value of the actual JSON type, or nothing."""
    words = _FORMS.get((str(path[-1]), wanted, actual)) if path else None
    return f"; {words}" if words else ""


def meant(path: Path, known: Collection[str]) -> str | None:
    """Return the field that a field of another engine is, in quotes, or None. `known`: the fields beside it."""
    *holders, name = path
    holder = next((part for part in reversed(holders) if isinstance(part, str)), "")
    elsewhere = _ELSEWHERE.get(_WORKFLOW if "tasks" in known else holder, {}).get(str(name))
    beside = _BESIDE.get(str(name))
    return elsewhere or (f'"{beside}"' if beside in known else None)
