"""Writes to the API server, from its metric `apiserver_request_total`."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from torpor_kubernetes.client.api import Api

PROGRAMS = frozenset({"leases", "serviceaccounts/token"})
"""Writes that Torpor's programs do for themselves."""
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_WRITES = frozenset({"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"})


class WriteKind(NamedTuple):
    """What was written, and how; a resource has its subresource, as in RBAC."""

    verb: str
    resource: str

    def __str__(self) -> str:
        """As a person reads it."""
        return f"{self.verb.lower()} {self.resource}"


def series(metrics: str, name: str) -> Iterator[tuple[Mapping[str, str], float]]:
    """The labels and the value of each series of a metric."""
    for line in re.finditer(rf"^{re.escape(name)}(?:\{{(.*)\}})? (\S+)$", metrics, re.MULTILINE):
        yield dict(_LABEL.findall(line[1] or "")), float(line[2])


def count_writes(metrics: str, left_out: Collection[str] = ()) -> Counter[WriteKind]:
    """The writes so far, by kind; answers of any code count, since each was work for the server."""
    writes: Counter[WriteKind] = Counter()
    for labels, value in series(metrics, "apiserver_request_total"):
        resource = "/".join(filter(None, (labels["resource"], labels["subresource"])))
        if labels["verb"] in _WRITES and labels["resource"] and resource not in left_out:
            writes[WriteKind(labels["verb"], resource)] += round(value)
    return writes


async def read_writes(api: Api, left_out: Collection[str] = ()) -> Counter[WriteKind]:
    """The same from the API server."""
    return count_writes(await api.read("/metrics"), left_out)
