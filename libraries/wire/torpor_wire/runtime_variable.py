"""The variable TORPOR_RUNTIME in the pod of a python task: what the runtime must know before its claim, as JSON.

It is one variable, because every field of a pod costs the API server time at each write of the pod (ADR 0042).
"""

import json
from typing import Any, NamedTuple

from torpor_wire import canonical


class RuntimeVariable(NamedTuple):
    """The segment of a TaskRun that the pod runs, and where the archive is."""

    namespace: str
    taskrun: str
    uid: str
    created: str
    """`metadata.creationTimestamp` of the TaskRun."""
    attempt: int
    segment: int = 0
    launch: int = 0
    started: str | None = None
    """When the attempt started; None before its first claim."""
    seal_key: str | None = None
    """The public key of the triggerer pool, in base64; None if the pool has none."""
    archive_url: str | None = None
    """URL of the archive, such as `https://torpor-archive.torpor-system.svc:8443`; None without an archive."""
    archive_namespace: str | None = None
    """The namespace of ConfigMap torpor-archive, which has the certificate of the archive."""

    def text(self) -> str:
        """Return the value of the variable, without the fields that have their default."""
        defaults = RuntimeVariable._field_defaults
        fields = self._asdict().items()
        return canonical.plain({name: value for name, value in fields if value != defaults.get(name, self)})


def parse(text: str) -> RuntimeVariable:
    """Return the fields. Unknown ones are ignored. Raises ValueError if the text is not such a value."""
    values: Any = json.loads(text)
    try:
        return RuntimeVariable(**{name: values[name] for name in RuntimeVariable._fields if name in values})
    except TypeError as error:
        raise ValueError(str(error)) from error
