"""Variables that a local run needs and the machine does not have: it has no Secrets. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from torpor_cli.local_run import folders

Object = Mapping[str, Any]


def sentences(task: Object, others: Sequence[Object], known: Collection[str]) -> Iterator[str]:
    """Yield what a task lacks. `others` are the other objects of the file, `known` the variables of the user."""
    yield from _missing_variables(task, others, known)
    yield from _missing_keys(task, known)


def _missing_variables(task: Object, others: Sequence[Object], known: Collection[str]) -> Iterator[str]:
    """Yield the variables without a value. In a cluster, the pod would not start either."""
    for variable in (*((task.get("pod") or {}).get("env") or ()), *((task.get("container") or {}).get("env") or ())):
        source, name = variable.get("valueFrom") or {}, variable.get("name")
        secret, config_map = source.get("secretKeyRef"), source.get("configMapKeyRef")
        if name in known or (secret or config_map or {}).get("optional"):
            continue
        if secret:
            why = f"Secret {secret.get('name')}, and a local run has no Secrets; "
        elif config_map and (missing := _missing_key(config_map, others)):
            why = f"{missing}, or "
        else:
            continue
        yield f"task {task['name']} needs the variable {name} from {why}{_advice(str(name))}"


def _missing_keys(task: Object, known: Collection[str]) -> Iterator[str]:
    """Yield the keys of Secrets of sources of files for which the machine has no variable."""
    from torpor_local.pods import file_sources  # noqa: PLC0415 - an extra of this package

    for entry in (task.get("files") or {}).get("in") or ():
        source = entry.get("from")
        for each in ((source or {}).get("object"), (source or {}).get("git")) if isinstance(source, dict) else ():
            for field, key in (each or {}).items():
                if not isinstance(key, dict):
                    continue
                name = file_sources.variable_of(key.get("name", ""), key.get("key", ""))
                if name not in known:
                    what = f"task {task['name']}: files.in {entry.get('name')}: {field} is in Secret {key.get('name')}"
                    yield f"{what}, and a local run has no Secrets; {_advice(name)}"


def _missing_key(reference: Object, others: Sequence[Object]) -> str | None:
    """Return what of a ConfigMap the file lacks, and how to add it; None if it lacks nothing."""
    name, key = reference.get("name", ""), reference.get("key", "")
    config_map = folders.by_name(others, "ConfigMap").get(name)
    if config_map is None:
        return f"ConfigMap {name}, which the file does not have; add it as a document"
    if key not in (config_map.get("data") or {}):
        return f"key {key} of ConfigMap {name}, which the file does not have; add the key"
    return None


def _advice(name: str) -> str:
    from torpor_local.pods import variables  # noqa: PLC0415 - an extra of this package

    if not variables.inherited({name: ""}):
        return f"give the variable another name, as tasks do not get {name} of your environment"
    return f"set {name} in your environment"
