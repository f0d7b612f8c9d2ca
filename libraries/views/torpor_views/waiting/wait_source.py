"""What a wait looks at, and which waits share one look: equal waits share a trigger, others on a source share a query.

The rules are those of the triggerer (ADR 0010, ADR 0011); its classes name their source in `source`. Pure.
"""

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from torpor_wire import canonical, constants, secret_ref, typed_json
from torpor_wire.trigger import ALONE, SEALED

from torpor_views import json_fields
from torpor_views.instance import InstanceView, TriggerView

_USER = re.compile(r"(?<=//)[^/@\s]*@")


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitSource:
    """`label`: what the wait looks at, without credentials. `trigger`: equal for waits that share a running trigger.

    `query`: equal for waits whose triggers share a query; that of the trigger itself if its class has no batches.
    """

    label: str
    trigger: Hashable
    query: Hashable


def wait_source(instance: InstanceView, trigger: TriggerView) -> WaitSource:
    """Return the source of a wait."""
    kwargs = json_fields.fields(json_fields.decoded(trigger.kwargs))
    shared = _trigger_key(instance, trigger, kwargs)
    batch = _batch(trigger.class_name, kwargs)
    account = instance.service_account or constants.TASK_ACCOUNT
    owner = (trigger.class_name, instance.namespace, instance.trigger_pool, account)
    query = shared if batch is None else ("batch", owner, batch)
    return WaitSource(label=_label(trigger, kwargs), trigger=shared, query=query)


def _trigger_key(instance: InstanceView, trigger: TriggerView, kwargs: json_fields.Fields) -> Hashable:
    """Sealed values and classes whose event belongs to one TaskRun are never shared."""
    if trigger.class_name in ALONE or not trigger.key or _is_sealed(kwargs):
        return "alone", instance.namespace, instance.name
    return trigger.class_name, instance.namespace, instance.trigger_pool, trigger.key, _plain(kwargs.get("timeout"))


def _batch(class_name: str, kwargs: json_fields.Fields) -> Hashable | None:
    """What waits of a class must agree in to share a query; None if each is polled alone."""
    match class_name:
        case "http" if kwargs.get("method") != "POST":
            return tuple(_plain(kwargs.get(name)) for name in ("method", "url", "headers", "timeout"))
        case "sql":
            params = json_fields.fields(kwargs.get("params"))
            kinds = tuple(sorted((name, isinstance(value, str)) for name, value in params.items()))
            return (*(_plain(kwargs.get(name)) for name in ("url", "query", "timeout")), kinds)
        case "object" if not json_fields.text(kwargs.get("url")).startswith("file:"):
            url = json_fields.text(kwargs.get("url"))
            return url.rpartition("/")[0], url.endswith("/"), _plain(kwargs.get("options"))
        case _:
            return None


def _label(trigger: TriggerView, kwargs: json_fields.Fields) -> str:
    match trigger.class_name:
        case "http" | "tcp" | "webhook":
            words = [kwargs.get("url") or kwargs.get("host") or kwargs.get("path")]
        case "sql":
            words = [kwargs.get("url"), kwargs.get("query")]
        case "object":
            url = kwargs.get("url")
            words = [f"{url.rpartition('/')[0]}/" if isinstance(url, str) and "/" in url else url]
        case "kubernetes":
            words = [kwargs.get("kind")]
        case _:
            return json_fields.one_line(trigger.waits_for or trigger.class_name, 120)
    shown = (_word(word) for word in words if word is not None)
    return json_fields.one_line(" ".join(filter(None, shown)) or trigger.waits_for or trigger.class_name, 120)


def _word(value: Any) -> str:
    """A value without the user and the password of a URL; a reference to a Secret as its author writes it."""
    readable = typed_json.readable(secret_ref.spelled(value))
    return _USER.sub("", readable if isinstance(readable, str) else _plain(readable))


def _plain(value: Any) -> str:
    try:
        return canonical.plain(value)
    except ValueError:
        return repr(value)


def _is_sealed(value: Any) -> bool:
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, Mapping):
            if any(isinstance(name, str) and name.startswith(SEALED) for name in item):
                return True
            left.extend(item.values())
        elif isinstance(item, list):
            left.extend(item)
    return False
