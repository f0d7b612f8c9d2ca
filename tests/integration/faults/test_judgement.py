"""Which fault strikes which request, and what counts as lost or repeated."""

from typing import Any

import pytest

from tests.integration.faults import reference
from tests.integration.faults.effects import wrong_effects
from tests.integration.faults.proxy_faults import ProxyFault, choose

RATES = {ProxyFault.DROP: 0.25, ProxyFault.REPEAT: 0.25, ProxyFault.CUT_WATCH: 0.25}


@pytest.mark.parametrize(
    ("method", "watch", "draw", "fault"),
    [
        ("GET", False, 0.2, ProxyFault.DROP),
        ("GET", False, 0.3, None),
        ("PATCH", False, 0.3, ProxyFault.REPEAT),
        ("PATCH", False, 0.6, None),
        ("GET", True, 0.3, ProxyFault.CUT_WATCH),
        ("GET", True, 0.6, None),
    ],
)
def test_a_fault_strikes_only_requests_of_its_kind(
    method: str, draw: float, fault: ProxyFault | None, *, watch: bool
) -> None:
    assert choose(RATES, draw, method=method, watch=watch) is fault


def test_a_lost_task_and_another_attempt_are_differences() -> None:
    runs = dict(reference.FAULTLESS.taskruns)
    del runs["size"]
    runs["items"] = ("Succeeded", 2, 0)
    found = reference.FAULTLESS._replace(taskruns=runs)

    assert reference.differences(reference.FAULTLESS) == []
    assert reference.differences(found) == [
        "taskruns items: ('Succeeded', 2, 0) instead of ('Succeeded', 1, 0)",
        "taskruns size: None instead of ('Succeeded', 1, 0)",
    ]


def test_a_second_process_of_one_launch_is_repeated() -> None:
    assert reference.repeated(["uid 1 0 0", "uid 1 0 1", "uid 1 0 0"]) == ["uid 1 0 0"]


def test_a_second_run_of_one_task_is_a_difference() -> None:
    once = reference.FAULTLESS_WITH_ALL
    twice = once._replace(children={"0": once.children["0"], "1": ("Succeeded", {})})

    assert reference.differences(twice, once) == ["children 1: ('Succeeded', {}) instead of None"]


@pytest.mark.parametrize(
    ("keys", "wrong"),
    [
        (["uid-1-0", "uid-2-0"], []),
        (["uid-1-0", "uid-2-0", "uid-2-0", "other-1-0"], []),
        (["uid-1-0"], ["request uid-2-0: False instead of True"]),
        (["uid-1-0", "uid-2-0", "uid-2-1"], ["request uid-2-1: True instead of False"]),
    ],
)
def test_each_attempt_sends_its_request_under_one_key(keys: list[str], wrong: list[str]) -> None:
    taskrun = {"metadata": {"uid": "uid"}, "status": {"attempt": 2}}

    assert wrong_effects.wrong_requests(taskrun, keys) == wrong


@pytest.mark.parametrize(
    ("owners", "wrong"),
    [
        (["uid"], []),
        ([], ["objects of uid: 0 instead of 1"]),
        (["uid", "uid"], ["objects of uid: 2 instead of 1"]),
        (["uid", "other"], ["objects of other: 1 instead of 0"]),
    ],
)
def test_each_object_task_has_one_object(owners: list[str], wrong: list[str]) -> None:
    taskruns: list[dict[str, Any]] = [
        {"metadata": {"uid": "uid"}, "spec": {"object": {}}},
        {"metadata": {"uid": "none"}, "spec": {}},
    ]
    objects: list[dict[str, Any]] = [{"metadata": {"labels": {"torpor.dev/object-of": uid}}} for uid in owners]
    objects.append({"metadata": {}})

    assert wrong_effects.wrong_objects(taskruns, objects) == wrong
