"""The environment, command and arguments of a pod's container, as a kubelet computes them. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Object = Mapping[str, Any]
ReadConfigMap = Callable[[str], Object | None]
"""Returns a ConfigMap of the pod's namespace, None if there is none."""

_REFERENCE = re.compile(r"\$(?:\$|\(([A-Za-z_.-][\w.-]*)\))")
_HIDDEN = ("TORPOR_", "KUBERNETES_", "KUBECONFIG")
"""Variables of the user that say where a cluster or another run is."""


def inherited(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the user that tasks get: a local run has no Secrets, so their values come from here."""
    return {name: value for name, value in environ.items() if not name.startswith(_HIDDEN)}


def environment(pod: Object, config_map: ReadConfigMap) -> dict[str, str]:
    """Return the variables of the first container. What needs a Secret is left out."""
    container = pod["spec"]["containers"][0]
    values: dict[str, str] = {}
    for source in container.get("envFrom") or ():
        if (reference := source.get("configMapRef")) is not None:
            data = _data(config_map(reference["name"]))
            values |= {f"{source.get('prefix') or ''}{key}": value for key, value in data.items()}
    for variable in container.get("env") or ():
        value = _value(variable, pod, config_map, values)
        if value is not None:
            values[variable["name"]] = value
    return values


def expanded(text: str, known: Mapping[str, str]) -> str:
    """Replace each `$(NAME)` with the value of a known variable, and `$$` with `$`."""

    def replaced(match: re.Match[str]) -> str:
        name = match[1]
        return "$" if name is None else known.get(name, match[0])

    return _REFERENCE.sub(replaced, text)


def command(pod: Object, known: Mapping[str, str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return command and arguments of the first container."""
    container = pod["spec"]["containers"][0]
    words = (container.get("command") or (), container.get("args") or ())
    entrypoint, arguments = ([expanded(word, known) for word in each] for each in words)
    return entrypoint, arguments


def _value(variable: Object, pod: Object, config_map: ReadConfigMap, known: Mapping[str, str]) -> str | None:
    source = variable.get("valueFrom")
    if source is None:
        return expanded(str(variable.get("value") or ""), known)
    if (reference := source.get("configMapKeyRef")) is not None:
        return _data(config_map(reference["name"])).get(reference["key"])
    if (reference := source.get("fieldRef")) is not None:
        return _field(pod, reference["fieldPath"])
    return None


def _data(config_map: Object | None) -> Mapping[str, str]:
    """Return the texts of a ConfigMap: no variable can have its binaryData."""
    return (config_map or {}).get("data") or {}


def _field(pod: Object, path: str) -> str | None:
    if match := re.fullmatch(r"metadata\.(labels|annotations)\['([^']*)'\]", path):
        return str((pod["metadata"].get(match[1]) or {}).get(match[2]) or "")
    value: Any = pod
    for word in path.split("."):
        value = value.get(word) if isinstance(value, Mapping) else None
    return None if value is None else str(value)
