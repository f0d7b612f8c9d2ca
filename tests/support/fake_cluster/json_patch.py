"""Applies a JSON Patch (RFC 6902) as the API server does, for the operations that the command torpor sends."""

import copy
from collections.abc import Sequence
from typing import Any

from tests.support.fake_cluster.objects import Object


class TestFailedError(Exception):
    """An operation `test` found another value."""


def applied(item: Object, operations: Sequence[Object]) -> Object:
    changed = copy.deepcopy(item)
    for operation in operations:
        *path, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        owner: Any = changed
        for part in path:
            owner = owner[part]
        match operation["op"]:
            case "test" if owner.get(last) != operation["value"]:
                raise TestFailedError(operation["path"])
            case "test":
                continue
            case "add":
                owner[last] = operation["value"]
            case other:
                raise NotImplementedError(other)
    return changed
