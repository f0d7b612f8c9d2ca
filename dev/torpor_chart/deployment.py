"""Which fields of a Deployment the values of the chart set. Pure."""

from typing import Any

from torpor_chart.template_text import POOL, block, entries, field, scalar

Body = dict[str, Any]

_SERVED = (
    "{{- with $.Values.watchNamespaces }}",
    "- name: TORPOR_NAMESPACES",
    '  value: {{ join "," . | quote }}',
    "{{- end }}",
)
_PRIORITY = ("{{- with $.Values.priorityClassName }}", "priorityClassName: {{ . | quote }}", "{{- end }}")

_ONE_WRITER = {"type": "Recreate"}
"""The strategy of an archive with an SQLite file."""


def edit(body: Body) -> None:
    """Put expressions into the Deployment of a component."""
    name = body["metadata"]["name"]
    values = "$pool" if POOL in name else f"$.Values.{name.removeprefix('torpor-')}"
    spec = body["spec"]
    if spec.get("strategy") != _ONE_WRITER and "replicas" in spec:
        of_archive = "$.Values.archive.postgresql.replicas"
        is_archive = values == "$.Values.archive"
        spec["replicas"] = scalar(of_archive if is_archive else _or_of_the_triggerer(values, "replicas"))
    _metadata(spec["template"]["metadata"], values)
    pod = spec["template"]["spec"]
    _pod(pod, values)
    (container,) = pod["containers"]
    _container(container, values)
    if "env" in container:
        container["env"] = _environment(container["env"], values)
    else:
        container[field("env", f"{values}.env")] = None


def _or_of_the_triggerer(values: str, name: str) -> str:
    return f"{values}.{name} | default $.Values.triggerer.{name}" if values == "$pool" else f"{values}.{name}"


def _metadata(metadata: Body, values: str) -> None:
    metadata["labels"][entries(f"{values}.podLabels")] = None
    if "annotations" in metadata:
        metadata["annotations"][entries(f"{values}.podAnnotations")] = None
    else:
        metadata[field("annotations", f"{values}.podAnnotations")] = None


def _pod(pod: Body, values: str) -> None:
    del pod["priorityClassName"]
    pod[block(*_PRIORITY)] = None
    for name in ("nodeSelector", "tolerations", "affinity"):
        pod[field(name, f"{values}.{name}")] = None
    pod[field("imagePullSecrets", "$.Values.imagePullSecrets")] = None


def _container(container: Body, values: str) -> None:
    is_pool = values == "$pool"
    container["image"] = scalar("$pool.image | quote" if is_pool else 'include "torpor.image" $.Values.image')
    container["imagePullPolicy"] = scalar("$.Values.image.pullPolicy")
    del container["resources"]
    container[field("resources", f"({_or_of_the_triggerer(values, 'resources')})")] = None
    if "args" in container:
        container["args"].append(block(*_list_items(values)))
    elif values == "$.Values.archive":
        container[block(*_archive_arguments(values))] = None
    else:
        container[field("args", f"{values}.args")] = None


def _list_items(values: str) -> tuple[str, ...]:
    return (f"{{{{- range {values}.args }}}}", "- {{ . | quote }}", "{{- end }}")


def _archive_arguments(values: str) -> tuple[str, ...]:
    store = (f"{{{{- with {values}.objects }}}}", '- {{ printf "--objects=%s" . | quote }}', "{{- end }}")
    return (f"{{{{- if or {values}.objects {values}.args }}}}", "args:", *store, *_list_items(values), "{{- end }}")


def _environment(variables: list[Any], values: str) -> list[Any]:
    for variable in variables:
        match variable["name"]:
            case "RUNTIME_IMAGE":
                variable["value"] = scalar('include "torpor.image" $.Values.runtimeImage')
            case "TORPOR_TRIGGERS" if values == "$pool":
                variable["value"] = scalar('join "," $pool.triggers | quote')
            case "DATABASE_URL":
                secret = "$.Values.archive.postgresql"  # noqa: S105 - the path of a value
                names = {"name": scalar(f"{secret}.secretName"), "key": scalar(f"{secret}.secretKey")}
                variable["valueFrom"]["secretKeyRef"] = names
            case _:
                pass
    return [*variables, block(*_SERVED), entries(f"{values}.env")]
