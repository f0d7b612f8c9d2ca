"""References to Secrets in a deferral: only the SDK's own object counts, data that looks like one is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from torpor import ConfigMapRef, SecretRef
from torpor.testing import run
from torpor.triggers import AnyOf, Http, Sql, Webhook
from torpor_wire import secret_ref, typed_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.worker.conftest import TaskPod

PASSWORD = SecretRef("db", "password")
MARKED = {"__type": "secretRef", "__var": {"name": "db", "key": "password"}}
TASK = """
from torpor import SecretRef, defer
from torpor.triggers import Http, Webhook
def end(event): return event
"""


def test_an_answer_that_holds_a_reference_is_not_passed_on_to_a_server(task: Callable[..., TaskPod]) -> None:
    pod = task(TASK + "def load(answer): return defer(Webhook('https://a', body={'got': answer}), then=end)")
    answer = {"secretRef": {"name": "db", "key": "password"}}
    pod.cluster.taskruns[pod.name]["spec"]["arguments"] = [{"name": "answer", "value": json.dumps(answer)}]
    assert pod.run(pod.launch()) == 1
    assert pod.status["reason"] == "DeferralInvalid"
    assert "trigger webhook: the trigger contains a secretRef that came as data" in pod.status["message"]
    assert "torpor.SecretRef('NAME', 'KEY')" in pod.status["message"]


def test_an_answer_that_holds_the_mark_itself_is_passed_on_as_data(task: Callable[..., TaskPod]) -> None:
    pod = task(TASK + "def load(answer): return defer(Webhook('https://a', body={'got': answer}), then=end)")
    pod.cluster.taskruns[pod.name]["spec"]["arguments"] = [{"name": "answer", "value": json.dumps(MARKED)}]
    assert pod.run(pod.launch()) == 0
    stored = json.loads(pod.status["trigger"]["kwargs"])
    assert secret_ref.references(stored) == frozenset()
    assert typed_json.decode(stored)["body"] == {"got": MARKED}


def test_a_reference_of_the_sdk_is_marked(task: Callable[..., TaskPod]) -> None:
    pod = task(
        TASK + "LOGIN = SecretRef('db', 'password')\n"
        "def load(): return defer(Http('https://a', headers={'Authorization': LOGIN}), then=end)"
    )
    assert pod.run(pod.launch()) == 0
    assert json.loads(pod.status["trigger"]["kwargs"])["headers"] == {"Authorization": MARKED}
    assert pod.status["trigger"]["waitsFor"] == (
        'https://a headers={"Authorization":{"secretRef":{"name":"db","key":"password"}}}'
    )


@pytest.mark.parametrize(
    "trigger",
    [
        Http(PASSWORD),
        Webhook("https://a", body={"deep": [PASSWORD]}),
        Sql(PASSWORD, "SELECT 1", params={"p": PASSWORD}),
        AnyOf([Http("https://a", headers={"Authorization": PASSWORD}), Http("https://b")]),
    ],
    ids=lambda trigger: type(trigger).__name__,
)
def test_every_class_keeps_the_mark(trigger: object) -> None:
    _, kwargs = trigger.serialize()  # type: ignore[attr-defined]
    assert secret_ref.references(typed_json.encode(kwargs)) == {PASSWORD}


def test_a_class_that_was_given_a_plain_object_does_not_gain_the_mark() -> None:
    _, kwargs = Http({"secretRef": PASSWORD.parts()}).serialize()
    with pytest.raises(ValueError, match="came as data"):
        secret_ref.references(typed_json.encode(kwargs))


def test_the_runner_of_unit_tests_gives_the_reference_back() -> None:
    from torpor import defer  # noqa: PLC0415 - as a task's own module does

    ended = run(lambda: defer(Http(PASSWORD), then=_end), events=[1])
    assert ended.deferrals[0].kwargs == {"url": PASSWORD}
    assert isinstance(ended.deferrals[0].kwargs["url"], SecretRef)


def _end(event: object) -> object:
    return event


@pytest.mark.parametrize(("name", "key"), [("", "k"), ("../x", "k"), ("a b", "k"), ("db", ""), ("db", "a/b"), (1, "k")])
def test_what_no_secret_can_be_called_is_refused(name: str, key: str) -> None:
    with pytest.raises(ValueError, match="is not the"):
        SecretRef(name, key)


def test_a_reference_to_a_config_map_is_marked_and_read_again() -> None:
    written = typed_json.encode({"region": ConfigMapRef("settings", "region")})
    assert written == {"region": {"__type": "configMapRef", "__var": {"name": "settings", "key": "region"}}}
    assert isinstance(typed_json.decode(written)["region"], ConfigMapRef)
    assert secret_ref.references(written) == {ConfigMapRef("settings", "region")}
    assert Http("https://x", headers={"X-Region": ConfigMapRef("settings", "region")}).serialize()[1]["headers"] == {
        "X-Region": {"configMapRef": {"name": "settings", "key": "region"}}
    }


def test_an_answer_that_holds_a_reference_to_a_config_map_is_refused(task: Callable[..., TaskPod]) -> None:
    pod = task(TASK + "def load(answer): return defer(Webhook('https://a', body={'got': answer}), then=end)")
    answer = {"configMapRef": {"name": "settings", "key": "region"}}
    pod.cluster.taskruns[pod.name]["spec"]["arguments"] = [{"name": "answer", "value": json.dumps(answer)}]
    assert pod.run(pod.launch()) == 1
    assert pod.status["reason"] == "DeferralInvalid"
    assert "contains a configMapRef that came as data" in pod.status["message"]
    assert "torpor.ConfigMapRef('NAME', 'KEY')" in pod.status["message"]
