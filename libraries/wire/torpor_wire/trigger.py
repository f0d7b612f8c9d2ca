"""A trigger as it is stored on a TaskRun: class and kwargs, with the key, shard and description derived from them.

The worker and the operator write it. The triggerer computes it again and fails a TaskRun that differs. Only the
triggerer imports the classes of triggers.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from torpor_wire import approvers, canonical, constants, secret_ref, times, typed_json
from torpor_wire.approvers import Approvers
from torpor_wire.text import printable_line

SETTINGS = frozenset({"interval", "poke_interval", "timeout"})
"""Arguments about how to poll. Deferrals that differ only in these share a key (the exec fields of AIP-17)."""

APPROVAL = "approval"
ALONE = frozenset({APPROVAL, "http_call", "mail", "notification", constants.OBJECT_TASK, "webhook"})
"""Classes whose event or effect belongs to one TaskRun, so they are never shared."""

SEVERAL = frozenset({"any_of", "all_of"})
"""Classes that contain other triggers: `triggers` is a list of `{class, kwargs}`."""

CURSOR = "cursor"
"""The argument with the position after the last event. With it, the event is an object that contains the next one."""
CURSORS = frozenset({"cron", "file", "http", "object", "redis", "sql", "workflow"})
"""Classes with the argument `cursor` (ADR 0035)."""
_FROM_NOW = frozenset({"cron", "workflow"})
"""Classes that begin at the deferral if `cursor` is null. The others begin with what exists."""
SEALED = "encrypted__"
_SUMMARY_MAX = 100
_SUBJECT = (
    *("url", "kind", "name", "host", "port", "path", "list", "stream"),
    *("moment", "expression", "question", "query"),
)
"""The arguments that are understood without their names, in the order of a description. They come first."""


class TriggerError(ValueError):
    """A trigger that cannot be stored; the message says what to change."""


class DeferredTrigger(NamedTuple):
    """A serialized trigger: registered class name, JSON text of the kwargs, and what derives from them."""

    class_name: str
    kwargs: str
    key: str
    shard: int
    waits_for: str
    approvers: Approvers | None = None

    def on_status(self) -> dict[str, canonical.Json]:
        """Return the value of `status.trigger`."""
        named: dict[str, canonical.Json] = {} if self.approvers is None else {"approvers": self.approvers.on_status()}
        return {
            **named,
            "class": self.class_name,
            "kwargs": self.kwargs,
            "key": self.key,
            "shard": self.shard,
            "waitsFor": self.waits_for,
        }


def build(  # noqa: PLR0913 - the parts of a key
    class_name: str,
    kwargs: Mapping[str, canonical.Json],
    *,
    namespace: str,
    pool: str,
    now: float,
    account: str = constants.TASK_ACCOUNT,
    taskrun: str = "",
) -> DeferredTrigger:
    """Return the trigger for the TaskRun of this name, with relative times made absolute.

    `account` is the ServiceAccount that must be allowed to read its Secrets. Raises TriggerError if the kwargs are not
    JSON or larger than 4 kB, or if an approval has no valid approvers.
    """
    class_name, kwargs = absolute(class_name, kwargs, now)
    try:
        text = canonical.plain(kwargs)
    except canonical.NotJsonError as error:
        raise TriggerError(f"the kwargs of trigger {class_name} are not JSON: {error}") from error
    if len(text.encode()) > constants.KWARGS_MAX:
        raise TriggerError(
            f"the kwargs of trigger {class_name} have {len(text.encode())} bytes; the limit is {constants.KWARGS_MAX}"
        )
    wait = key(class_name, kwargs, namespace=namespace, pool=pool, account=account, taskrun=taskrun)
    words = describe(class_name, kwargs)
    return DeferredTrigger(class_name, text, wait, shard(wait), words, answered_by(class_name, kwargs))


def parse(kwargs: str) -> Mapping[str, canonical.Json]:
    """Return the kwargs from JSON text. Raises TriggerError if it is not a JSON object."""
    try:
        decoded = json.loads(kwargs)
    except (ValueError, RecursionError) as error:
        raise TriggerError(f"the kwargs of the trigger are not JSON: {error}") from error
    if not isinstance(decoded, dict):
        kind = type(decoded).__name__
        raise TriggerError(f"the kwargs of the trigger are of type {kind}; they must be a JSON object")
    return decoded


def absolute(
    class_name: str, kwargs: Mapping[str, canonical.Json], now: float
) -> tuple[str, Mapping[str, canonical.Json]]:
    """Return the trigger with absolute times, so that another triggerer that takes over does not restart them.

    A `duration` becomes a `time`. A `cron` without a cursor and without `after`, or with a null one, gets the time of
    the deferral as `after`. A null cursor of `cron` and `workflow` becomes the time of the deferral.
    """
    match class_name:
        case "duration":
            return _ending(kwargs, now)
        case _ if class_name in _FROM_NOW and CURSOR in kwargs:
            return class_name, {**kwargs, CURSOR: times.rfc3339(now)} if kwargs[CURSOR] is None else kwargs
        case "cron":
            after = kwargs.get("after")
            return class_name, {**kwargs, "after": times.rfc3339(now) if after is None else after}
        case "any_of" | "all_of" if parts := _parts(kwargs):
            return class_name, {**_entries(kwargs), "triggers": [_absolute(part, now) for part in parts]}
        case _:
            return class_name, kwargs


def _absolute(part: canonical.Json, now: float) -> canonical.Json:
    if not isinstance(part, Mapping):
        return part
    match part.get("class"), typed_json.unwrapped(part.get("kwargs")):
        case str() as class_name, Mapping() as kwargs:
            class_name, kwargs = absolute(class_name, kwargs, now)
            return {**part, "class": class_name, "kwargs": kwargs}
        case _:
            return part


def _parts(kwargs: Mapping[str, canonical.Json]) -> Sequence[canonical.Json]:
    """Return the triggers within a trigger; none if that is not a list, because the kwargs are not validated yet.

    Typed values are decoded, so that no encoding can hide a trigger from its key.
    """
    parts = typed_json.unwrapped(_entries(kwargs).get("triggers"))
    return [typed_json.unwrapped(part) for part in parts] if isinstance(parts, list | tuple) else ()


def _entries(kwargs: Mapping[str, canonical.Json]) -> Mapping[str, canonical.Json]:
    entries = typed_json.unwrapped(kwargs)
    return entries if isinstance(entries, Mapping) else {}


def _ending(kwargs: Mapping[str, canonical.Json], now: float) -> tuple[str, Mapping[str, canonical.Json]]:
    try:
        if set(kwargs) != {"duration"}:
            raise ValueError(f"it has one argument, `duration`, but got {sorted(kwargs)}")
        return "time", {"at": times.rfc3339(now + _length(kwargs["duration"]))}
    except (ValueError, OverflowError) as error:
        raise TriggerError(f"trigger duration: {error}") from error


def _length(duration: canonical.Json) -> float:
    match duration:
        case str():
            return times.seconds(duration)
        case int() | float() if not isinstance(duration, bool):
            return float(duration)
        case _:
            shown = canonical.plain(duration)[:100]
            raise ValueError(f"`duration` is {shown}; write 30s, 5m, 1h30m or 7d, or a number of seconds")


def key(  # noqa: PLR0913 - the parts of a key
    class_name: str,
    kwargs: Mapping[str, canonical.Json],
    *,
    namespace: str,
    pool: str,
    account: str = constants.TASK_ACCOUNT,
    taskrun: str = "",
) -> str:
    """Return 32 hexadecimal digits, equal for deferrals that one poke can serve (the persist fields of AIP-17).

    The ServiceAccount is part of the key if the trigger refers to Secrets, and the name of the TaskRun if the event is
    its own.
    """
    persist = {name: value for name, value in kwargs.items() if name not in SETTINGS}
    reader = (account,) if refers_to_secret(kwargs) else ()
    owner = (["taskrun", taskrun],) if is_alone(class_name, kwargs) else ()
    return canonical.digest(class_name, persist, pool, namespace, *reader, *owner)[:32]


def is_alone(class_name: str, kwargs: Mapping[str, canonical.Json]) -> bool:
    """Return whether the trigger, or one within it, belongs to one TaskRun."""
    if class_name not in SEVERAL:
        return class_name in ALONE
    return any(is_alone(name, inner) for name, inner in _named(kwargs))


def answered_by(class_name: str, kwargs: Mapping[str, canonical.Json]) -> Approvers | None:
    """Return who may answer the approvals of a trigger; None if it restricts no user.

    Raises TriggerError for invalid approvers, and for several approvals with different ones, because one answer on the
    TaskRun applies to all.
    """
    allowed = set(_approvers(class_name, kwargs))
    if len(allowed) > 1:
        raise TriggerError(
            f"trigger {class_name}: one answer applies to all its approvals; give them the same approvers"
        )
    return next(iter(allowed), None)


def _approvers(class_name: str, kwargs: Mapping[str, canonical.Json]) -> Iterator[Approvers]:
    if class_name in SEVERAL:
        for name, inner in _named(kwargs):
            yield from _approvers(name, inner)
    elif class_name == APPROVAL and (named := typed_json.unwrapped(_entries(kwargs).get("approvers"))) is not None:
        try:
            yield approvers.parse_approvers(named)
        except ValueError as error:
            raise TriggerError(f"trigger {class_name}: {error}") from error


def _named(kwargs: Mapping[str, canonical.Json]) -> Iterator[tuple[str, Mapping[str, canonical.Json]]]:
    for part in _parts(kwargs):
        match part:
            case {"class": str() as name, **rest}:
                inner = typed_json.unwrapped(rest.get("kwargs"))
                yield name, inner if isinstance(inner, Mapping) else {}


def refers_to_secret(kwargs: Mapping[str, canonical.Json]) -> bool:
    """Return whether the kwargs contain a reference to a Secret, marked or not."""
    return secret_ref.is_claimed(kwargs)


def shard(wait: str) -> int:
    """Return the shard of a key, one of 256."""
    return int(wait[:8], 16) % constants.SHARDS


def describe(class_name: str, kwargs: Mapping[str, canonical.Json]) -> str:
    """Return one short line that describes the trigger for `kubectl get taskruns`.

    It has no sealed values, positions, or SETTINGS. Several arguments have their names, but for those of `_SUBJECT`.
    """
    kwargs = {name: value for name, value in kwargs.items() if name != CURSOR}
    match class_name:
        case "time":
            return in_one_line("until", str(kwargs.get("at")))
        case "any_of" | "all_of":
            word = " or " if class_name == "any_of" else " and "
            parts = [(name in SEVERAL, describe(name, inner)) for name, inner in _named(kwargs)]
            return in_one_line(word.join(f"({words})" if several else words for several, words in parts))
        case "cron":
            kwargs = {name: value for name, value in kwargs.items() if name not in {"after", "delay"}}
        case constants.OBJECT_TASK:
            return in_one_line(*(str(kwargs.get(name) or "") for name in ("action", "kind", "name")))
        case "notification":
            return in_one_line(f"notification to {kwargs.get('service')}: {kwargs.get('title', '')}")
        case "http_call":
            return in_one_line(str(kwargs.get("method", "GET")), *_words({"url": kwargs.get("url")}))
        case "approval":
            who = (f"by {allowed.shown()}" for allowed in _approvers(class_name, kwargs))
            question = {"question": kwargs.get("subject") or kwargs.get("question")}
            return in_one_line(class_name, *_words(question), *who)
    words, name = _words(kwargs), class_name.rpartition(".")[2]
    is_named = words and words[0].startswith((f"{name}://", f"{name}s://"))
    return in_one_line(*words) if is_named else in_one_line(name, *words)


def _words(kwargs: Mapping[str, canonical.Json]) -> list[str]:
    shown = ((n, v) for n, v in kwargs.items() if v is not None and n not in SETTINGS and not n.startswith(SEALED))
    values = {name: typed_json.readable(secret_ref.spelled(value)) for name, value in shown}
    texts = {name: value if isinstance(value, str) else canonical.plain(value) for name, value in values.items()}
    if len(texts) == 1:
        return [*texts.values()]
    subject = [texts.pop(name) for name in _SUBJECT if name in texts]
    return subject + [f"{name}={texts[name]}" for name in sorted(texts, key=lambda name: texts[name][:1] in "[{")]


def awaited(waits_for: str) -> str:
    """Return what follows the word "waiting": `for http ...`, or `until` a moment, with which the text begins then."""
    return waits_for if waits_for.startswith("until ") else f"for {waits_for}"


def in_one_line(*words: str) -> str:
    """Return text for `status.trigger.waitsFor`: one printable line of up to 120 characters."""
    line = printable_line(" ".join(" ".join(words).split()))
    return line if len(line) <= _SUMMARY_MAX else line[: _SUMMARY_MAX - 3] + "..."
