"""Params that fit a template and params that do not, for the operator and for the admission policy alike."""

from typing import Any

from tests.support.builders import Body
from tests.support.manifests import manifest

WORKFLOW: Body = {"params": {"bucket": "raw"}, "tasks": [{"name": "a", "trigger": {"class": "time"}}]}

PARAMS: list[Body] = [
    {"name": "date", "pattern": "[0-9]{4}-[0-9]{2}-[0-9]{2}", "required": True},
    {"name": "region", "enum": ["eu", "us"], "default": "eu"},
    {"name": "count", "type": "integer", "default": 3},
    {"name": "share", "type": "number"},
    {"name": "dry", "type": "boolean", "default": False},
    {"name": "tables", "type": "array"},
    {"name": "options", "type": "object", "default": {"fast": True}},
    {"name": "level", "type": "integer", "enum": [1, 2]},
    {"name": "shape", "type": "object", "enum": [{"a": [1, True]}, {"a": []}]},
]
DATE = {"date": "2026-11-20"}


def template(params: list[Body] | None = None, workflow: Body | None = None, name: str = "nightly") -> Body:
    """A WorkflowTemplate."""
    return manifest(
        "WorkflowTemplate", name, {"params": PARAMS if params is None else params, "workflow": workflow or WORKFLOW}
    )


FITS: dict[str, Body] = {
    "only what is required": DATE,
    "every param": DATE
    | {"region": "us", "count": -1, "share": 0.5, "dry": True, "tables": ["x"], "options": {}, "level": 2},
    "an integer as a number": DATE | {"share": 1},
    "an object of the enum": DATE | {"shape": {"a": [1, True]}},
}

MISFITS: dict[str, tuple[Body, str]] = {
    "a missing param": ({}, "param date is missing: template nightly requires it"),
    "an unknown param": (
        DATE | {"dat": 1},
        "unknown param dat; params of template nightly: date, region, count, share, dry, tables, options, level, shape",
    ),
    "a constant": (DATE | {"bucket": "x"}, "param bucket cannot be set: it is a constant of template nightly"),
    "a string as an integer": (DATE | {"count": "3"}, 'param count must be an integer, not "3"'),
    "a fraction as an integer": (DATE | {"count": 1.5}, "param count must be an integer, not 1.5"),
    "a boolean as an integer": (DATE | {"count": True}, "param count must be an integer, not true"),
    "a boolean as a number": (DATE | {"share": False}, "param share must be a number, not false"),
    "an integer as a string": ({"date": 20261120}, "param date must be a string, not 20261120"),
    "null": ({"date": None}, "param date must be a string, not null"),
    "null for an optional param": (DATE | {"share": None}, "param share must be a number, not null"),
    "a string as a boolean": (DATE | {"dry": "yes"}, 'param dry must be true or false, not "yes"'),
    "an object as an array": (DATE | {"tables": {}}, "param tables must be an array, not an object"),
    "a list as an object": (DATE | {"options": []}, "param options must be an object, not a list"),
    "a value outside the enum": (DATE | {"region": "de"}, 'param region must be one of "eu", "us", not "de"'),
    "a number outside the enum": (DATE | {"level": 3}, "param level must be one of 1, 2, not 3"),
    "a text around the pattern": (
        {"date": "on 2026-11-20"},
        'param date must match [0-9]{4}-[0-9]{2}-[0-9]{2}, not "on 2026-11-20"',
    ),
    "two problems": (
        {"count": "3"},
        'param date is missing: template nightly requires it; param count must be an integer, not "3"',
    ),
    "a long text": (
        {"date": "x" * 100},
        f'param date must match [0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}, not "{"x" * 60}..."',
    ),
}

DECLARED: dict[str, tuple[Body, str]] = {
    "a default of another type": (
        {"name": "n", "type": "integer", "default": "3"},
        'param n: the default must be an integer, not "3"',
    ),
    "a default outside the enum": (
        {"name": "r", "enum": ["eu"], "default": "us"},
        'param r: the default must be one of "eu", not "us"',
    ),
    "a default that the pattern does not match": (
        {"name": "r", "pattern": "[a-z]+", "default": "EU"},
        'param r: the default must match [a-z]+, not "EU"',
    ),
    "an enum of another type": (
        {"name": "r", "enum": ["eu", 1]},
        "param r: each value of enum must be a string, not 1",
    ),
    "an enum with null": ({"name": "r", "enum": [None]}, "param r: each value of enum must be a string, not null"),
    "an enum that the pattern does not match": (
        {"name": "r", "pattern": "[a-z]+", "enum": ["eu", "EU"]},
        'param r: each value of enum must match [a-z]+, not "EU"',
    ),
    "an empty enum": ({"name": "r", "enum": []}, "param r: enum is empty; add a value, or remove enum"),
    "required with a default": (
        {"name": "r", "required": True, "default": "eu"},
        "param r is required and has a default; remove one of them",
    ),
    "a param that is a constant": (
        {"name": "bucket"},
        "param bucket is also in workflow.params; remove one of them",
    ),
    "a name that expressions cannot read": (
        {"name": "true"},
        "a param has the name true or false",
    ),
}


def run(params: Body, template: str = "nightly", name: str = "run", **spec: Any) -> Body:
    """A Workflow of a template."""
    return manifest("Workflow", name, {"templateRef": {"name": template}, "params": params, **spec})
