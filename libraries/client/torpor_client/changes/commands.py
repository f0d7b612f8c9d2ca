"""The `torpor` command that does what an act of the page does, quoted for a shell. Pure."""

import json
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from torpor_wire.text import printable_line


def of_runs(verb: str, namespace: str, names: Iterable[str]) -> str:
    """Return `torpor VERB RUN... -n NAMESPACE`."""
    return _line(verb, *names, "-n", namespace)


def retry(namespace: str, name: str, refs: Iterable[str] = ()) -> str:
    """Return the command that runs instances again, or everything that failed."""
    return _line("retry", name, *refs, "-n", namespace)


def mark(namespace: str, name: str, refs: Iterable[str], state: str, because: str) -> str:
    """Return the commands that mark instances, one for each."""
    marks = (_line("mark", f"{name}/{ref}", state, "--because", because, "-n", namespace) for ref in refs)
    return "\n".join(marks)


def answer(  # noqa: PLR0913 - the parts of an answer
    verb: str,
    namespace: str,
    name: str,
    ref: str,
    note: str | None = None,
    *,
    fields: Mapping[str, Any] | None = None,
    options: Iterable[str] = (),
) -> str:
    """Return `torpor approve RUN/TASK` or `torpor reject RUN/TASK`. `fields` and `options` are those of its form."""
    values = _values("--field", fields or {})
    chosen = [word for option in options for word in ("--option", option)]
    noted = ["--note", note] if note else []
    return _line(verb, f"{name}/{ref}", *values, *chosen, *noted, "-n", namespace)


def submit(namespace: str, template: str, params: Mapping[str, Any], name: str | None = None) -> str:
    """Return the command that runs a template."""
    named = ["--name", name] if name else []
    return _line("submit", "--template", template, *named, *_params(params), "-n", namespace)


def resubmit(namespace: str, name: str, params: Mapping[str, Any]) -> str:
    """Return the command that runs an earlier run again. `params`: those that differ."""
    return _line("resubmit", name, *_params(params), "-n", namespace)


def of_schedules(verb: str, namespace: str, names: Iterable[str], params: Mapping[str, Any] | None = None) -> str:
    """Return `torpor schedule VERB NAME... -n NAMESPACE`."""
    return _line("schedule", verb, *names, *_params(params or {}), "-n", namespace)


def backfill(namespace: str, spec: Mapping[str, Any]) -> str:
    """Return the command that creates a Backfill with this spec."""
    options = ["--from", str(spec["from"]), "--to", str(spec["to"])]
    options += ["--reverse"] if spec.get("reverse") else []
    for field in ("source", "concurrency", "rerun"):
        options += [f"--{field}", str(spec[field])] if spec.get(field) else []
    params = _params(spec.get("params") or {})
    return _line("backfill", "create", str(spec["schedule"]), *options, *params, "-n", namespace)


def _params(params: Mapping[str, Any]) -> list[str]:
    return _values("-p", params)


def _values(option: str, values: Mapping[str, Any]) -> list[str]:
    """The options for values. A text is written as it is, any other value as JSON."""
    words: list[str] = []
    for name, value in values.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        words += [option, f"{name}={text}"]
    return words


def _line(*words: str) -> str:
    return printable_line(shlex.join(("torpor", *words)))
