"""Applies a JSON Patch (RFC 6902) as the API server does, for the operations that the command torpor sends."""

import copy
from collections.abc import Sequence
from typing import Any

from tests.support.fake_cluster.objects import Object


class TestFailedError(Exception):
    """An operation `test` found another value."""


def applied(item: Object, operations: Sequence[Object]) -> Object:
    changed = copy.deepcopy(item)
    for one in operations:
        *path, last = [part.replace("~1", "/").replace("~0", "~") for part in one["path"].split("/")[1:]]
        owner: Any = changed
        for part in path:
            owner = owner[part]
        match one["op"]:
            case "test" if owner.get(last) != one["value"]:
                raise TestFailedError(one["path"])
            case "test":
                continue
            case "add":
                owner[last] = one["value"]
            case other:
                raise NotImplementedError(other)
    return changed
