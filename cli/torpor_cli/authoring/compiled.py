"""Workflows of functions: `pkg.mod:ingest` in place of a file."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torpor_client.changes import params, template_params

from torpor_cli.errors import CliError, UsageError, unknown

_REFERENCE = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*")
_TASK = re.compile(r"spec\.tasks\[(\d+)\]")


def is_reference(text: str) -> bool:
    """Return whether a text is `package.module:name`. The path of a file that exists is none."""
    return _REFERENCE.fullmatch(text) is not None and not Path(text).exists()


def compile_workflow(
    reference: str, *, python: str | None = None, pairs: Sequence[str] = (), values: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the Workflow of a function. `pairs` are texts NAME=VALUE. Raises UsageError and CliError."""
    if not _REFERENCE.fullmatch(reference):
        raise UsageError(
            f"{reference!r} is not a workflow function; write package.module:name, such as ingest.flows:ingest"
        )
    from torpor_cli.authoring import interpreter  # noqa: PLC0415 - subprocess costs 10 ms, most runs have files

    built = interpreter.build_workflow(interpreter.choose(python), reference)
    given = _given(reference, built["params"], pairs, values or {})
    body: dict[str, Any] = built["workflow"]
    body["spec"].get("params", {}).update(given)
    return body


def findings(body: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the errors and the warnings of the offline checks, each with its task. Raises CliError."""
    try:
        from torpor_cli.linting import (  # noqa: PLC0415 - they need pydantic and CEL
            check,
            kinds,
            triggers,
        )
        from torpor_cli.linting.finding import Severity, dotted  # noqa: PLC0415
    except ImportError as error:
        raise CliError(f"the checks need the package {error.name}, which is not installed for this Python") from error
    tasks = [task.get("name", "") for task in body["spec"]["tasks"]]
    lines_by_error: dict[bool, list[str]] = {True: [], False: []}
    for problem in check.problems(body, kinds.WORKFLOW, triggers.classes({})):
        place = _TASK.sub(lambda match: f"task {tasks[int(match[1])]}", dotted(problem.path))
        lines_by_error[problem.severity is Severity.ERROR].append(f"{place}: {problem.message} [{problem.rule}]")
    return list(dict.fromkeys(lines_by_error[True])), list(dict.fromkeys(lines_by_error[False]))


def _given(
    reference: str, declared: Sequence[Mapping[str, Any]], pairs: Sequence[str], values: Mapping[str, Any]
) -> dict[str, Any]:
    known = {param["name"]: param for param in declared}
    named = [pair.partition("=")[0] for pair in pairs]
    for name in (*values, *named):
        if name not in known:
            raise UsageError(str(unknown("param", name, known, f"{reference} has {', '.join(known) or 'none'}")))
    typed = {name: param for name, param in known.items() if "type" in param}
    texts = {
        kind: [pair for pair, name in zip(pairs, named, strict=True) if (name in typed) is kind]
        for kind in (True, False)
    }
    template = {"metadata": {"name": reference}, "spec": {"params": list(typed.values()), "workflow": {}}}
    of_types = template_params.parse(texts[True], {name: values[name] for name in values if name in typed}, template)
    given = {**values, **of_types, **params.parse(texts[False], dict.fromkeys(known))}
    if missing := [name for name in known if "default" not in known[name] and name not in given]:
        raise UsageError(f"param {missing[0]} is missing: {reference} requires it; add -p {missing[0]}=...")
    return given
