"""Events of assets, as values of runs: a run lists the assets that its tasks have updated, and a Schedule reads that.

The result of a producer's run is `{"assets": [{"name": …, "uri": …, "extra": {…}}]}`. The event of the source of a
consumer has this result. Texts of the DAG file become string literals of CEL. Pure.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from torpor_airflow.conversion import operator_kind

PARAM = "asset_events"
"""The param of a consumer with the events that started its run."""
_EXPRESSION_MAX = 1_024
_WRITES = ("outlet_events", "Metadata")
_READS = "triggering_asset_events"
_LIST = "event.result.assets"
_HAS_LIST = (
    "has(event.result) && type(event.result) == map && has(event.result.assets) && "
    f"type({_LIST}) == list && {_LIST}.all(a, type(a) == map && has(a.uri))"
)
"""Whether the result of the producer has a list of assets: each other value would fail the expressions."""


def outlets(operator: Any) -> Sequence[Any]:
    """Return the assets that an operator updates, without aliases."""
    return [each for each in operator_kind.field(operator, "outlets") or () if hasattr(each, "uri")]


def writes_events(operator: Any) -> bool:
    """Whether the code of a task says something about the events of its outlets, as `outlet_events` does.

    The instances of a mapped task have no common result, and the result of a branch is what it chose. So their events
    are those without an extra.
    """
    is_mapped = operator.is_mapped or operator.get_closest_mapped_task_group() is not None
    if is_mapped or operator_kind.chooses(operator) or not operator_kind.field(operator, "outlets"):
        return False
    return any(name in found for found in operator_kind.texts(operator) for name in _WRITES)


def reads_events(operators: Sequence[Any]) -> bool:
    """Whether code or templates of a DAG ask for the events that started the run."""
    return any(_READS in text for each in operators for text in operator_kind.texts(each))


def run_result(operators: Sequence[Any], names: Mapping[str, str], writing: Collection[str]) -> str | None:
    """Return the result of a run; None without outlets, or if there are too many for an expression.

    `names` are by the ids of the tasks; `writing` are those whose results have their events.
    """
    parts = [
        _of_task(names[each.task_id], None if names[each.task_id] in writing else outlets(each))
        for each in operators
        if outlets(each) or names[each.task_id] in writing
    ]
    return _bounded(f"{{'assets': {' + '.join(parts)}}}") if parts else None


def _of_task(name: str, assets: Sequence[Any] | None) -> str:
    """Return the events of a task, none unless it has succeeded: one for each asset, or those in its result."""
    listed = f"tasks.{name}.result.__assets__"
    if assets is not None:
        listed = f"[{', '.join(_literal(each) for each in assets)}]"
    return f"(tasks.{name}.state == 'Succeeded' ? {listed} : [])"


def _literal(asset: Any) -> str:
    return f"{{'name': {text(asset.name)}, 'uri': {text(asset.uri)}, 'extra': {{}}}}"


def when(uris: Mapping[str, str]) -> str | None:
    """Return the condition of a Schedule. `uris` are by the names of the sources; events of others always count.

    A run without a list counts, too: an older template has none, a long list is not part of an event, and a user may
    have changed the result of the template.
    """
    if not uris:
        return None
    cases = (f"source == '{name}' ? {_LIST}.exists(a, a.uri == {text(uri)}) : " for name, uri in uris.items())
    return _bounded(f"!({_HAS_LIST}) || ({''.join(cases)}true)")


def param(uris: Mapping[str, str]) -> str | None:
    """Return the value of the param of a run, from the event that starts it. A run without a list has no events."""
    is_of_source = f"source in [{', '.join(repr(name) for name in uris)}]"
    known = f"[{', '.join(map(text, dict.fromkeys(uris.values())))}]"
    picked = f"{_LIST}.filter(a, a.uri in {known} && has(a.name) && has(a.extra))"
    value = "{'name': a.name, 'uri': a.uri, 'extra': a.extra, 'run': event.name, 'at': event.completed}"
    expression = _bounded(f"{is_of_source} && {_HAS_LIST} ? {picked}.map(a, {value}) : []")
    return None if expression is None else f"${{{expression}}}"


def text(value: str) -> str:
    """Return a string literal of CEL."""
    return json.dumps(str(value), ensure_ascii=False)


def _bounded(expression: str) -> str | None:
    return expression if len(expression) <= _EXPRESSION_MAX else None
