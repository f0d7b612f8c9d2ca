"""A trigger as it stands on a TaskRun: class and kwargs, and the key, shard and words derived from them.

Worker and operator write it, the triggerer recomputes it and fails a TaskRun that lies. Importing a trigger's class is
the triggerer's business, never this module's.
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

from torpor_wire import canonical, keys, times

SETTINGS = frozenset({"interval", "poke_interval", "timeout"})
"""Arguments that say how to poke, not what for: waits that differ only in these share a key (AIP-17's exec fields)."""

SEALED = "encrypted__"
SECRET_REF = "secretRef"  # noqa: S105 - the name of a field
_SUMMARY_MAX = 100


class TriggerError(ValueError):
    """A trigger that cannot be written on a TaskRun; the message says what to change."""


class Trigger(NamedTuple):
    """A serialized trigger: its registered class name and the JSON text of its keyword arguments."""

    class_name: str
    kwargs: str
    key: str
    shard: int
    waits_for: str

    def on_status(self) -> dict[str, canonical.Json]:
        """The value of `status.trigger`."""
        return {
            "class": self.class_name,
            "kwargs": self.kwargs,
            "key": self.key,
            "shard": self.shard,
            "waitsFor": self.waits_for,
        }


def build(  # noqa: PLR0913 - what a key is made of
    class_name: str,
    kwargs: Mapping[str, canonical.Json],
    *,
    namespace: str,
    pool: str,
    now: float,
    account: str = keys.TASK_ACCOUNT,
) -> Trigger:
    """The trigger as it will stand on the TaskRun, relative times made absolute.

    `account` is the ServiceAccount that must be allowed to read the Secrets it refers to. Raises TriggerError where
    the kwargs are not JSON or their text is larger than 4 kB.
    """
    class_name, kwargs = absolute(class_name, kwargs, now)
    try:
        text = canonical.plain(kwargs)
    except canonical.NotJsonError as error:
        raise TriggerError(f"the kwargs of trigger {class_name} are not JSON: {error}") from error
    if len(text.encode()) > keys.KWARGS_MAX:
        raise TriggerError(f"the kwargs of trigger {class_name} are {len(text.encode())} bytes; {keys.KWARGS_MAX} fit")
    wait = key(class_name, kwargs, namespace=namespace, pool=pool, account=account)
    return Trigger(class_name, text, wait, shard(wait), describe(class_name, kwargs))


def parse(kwargs: str) -> Mapping[str, canonical.Json]:
    """The keyword arguments that stand as JSON text. Raises TriggerError for text that is no JSON object."""
    try:
        found = json.loads(kwargs)
    except (ValueError, RecursionError) as error:
        raise TriggerError(f"the kwargs of the trigger are not JSON: {error}") from error
    if not isinstance(found, dict):
        raise TriggerError(f"the kwargs of the trigger are a {type(found).__name__}; they must be a JSON object")
    return found


def absolute(
    class_name: str, kwargs: Mapping[str, canonical.Json], now: float
) -> tuple[str, Mapping[str, canonical.Json]]:
    """A `duration` becomes the `time` it ends at, so that a triggerer which takes it over does not start it anew."""
    if class_name != "duration":
        return class_name, kwargs
    length = kwargs.get("duration")
    try:
        if set(kwargs) != {"duration"} or isinstance(length, bool):
            raise ValueError(f"it takes one kwarg, `duration`, and got {sorted(kwargs)}")
        wait = float(length) if isinstance(length, int | float) else times.seconds(str(length))
        return "time", {"at": times.rfc3339(now + wait)}
    except (ValueError, OverflowError) as error:
        raise TriggerError(f"trigger duration: {error}") from error


def key(
    class_name: str,
    kwargs: Mapping[str, canonical.Json],
    *,
    namespace: str,
    pool: str,
    account: str = keys.TASK_ACCOUNT,
) -> str:
    """32 hexadecimal digits, equal exactly for waits that one poke can serve (AIP-17's persist fields).

    What one ServiceAccount may read of a Secret is not for the waits of another, so it is part of the key then.
    """
    persist = {name: value for name, value in kwargs.items() if name not in SETTINGS}
    reader = (account,) if refers_to_secret(kwargs) else ()
    return canonical.digest(class_name, persist, pool, namespace, *reader)[:32]


def refers_to_secret(kwargs: Mapping[str, canonical.Json]) -> bool:
    """Whether `{"secretRef": ...}` stands anywhere in them."""
    left: list[canonical.Json] = [kwargs]
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            if SECRET_REF in value:
                return True
            left.extend(value.values())
        elif isinstance(value, list | tuple):
            left.extend(value)
    return False


def shard(wait: str) -> int:
    """Which of the 256 shards a key belongs to: a constant of the API version."""
    return int(wait[:8], 16) % keys.SHARDS


def describe(class_name: str, kwargs: Mapping[str, canonical.Json]) -> str:
    """What is waited for, in one short line for `kubectl get taskruns`; sealed values are left out."""
    if class_name == "time":
        return _line("until", str(kwargs.get("at")))
    shown = {name: value for name, value in kwargs.items() if not name.startswith(SEALED) and value is not None}
    values = [value if isinstance(value, str) else canonical.plain(value) for value in shown.values()]
    return _line(class_name.rpartition(".")[2], *values)


def _line(*words: str) -> str:
    line = " ".join(" ".join(words).split())
    return line if len(line) <= _SUMMARY_MAX else line[: _SUMMARY_MAX - 3] + "..."
