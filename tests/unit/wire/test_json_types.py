"""What messages call the types of JSON."""

from typing import Any

import pytest
from torpor_wire import json_types


@pytest.mark.parametrize(
    ("value", "name", "described"),
    [
        (None, "null", "null"),
        (True, "boolean", "a boolean"),
        (1, "number", "a number"),
        (0.5, "number", "a number"),
        ("a", "string", "a string"),
        ([], "list", "a list"),
        ({}, "object", "an object"),
    ],
)
def test_each_type_has_one_name(value: Any, name: str, described: str) -> None:
    assert (json_types.type_name(value), json_types.described(value)) == (name, described)
