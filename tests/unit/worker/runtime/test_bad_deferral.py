"""Deferrals that cannot be stored or resumed: each is found before the wait, and the message says what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.worker.conftest import TaskPod

AGAIN = {"retries": {"limit": 3}}
WAIT = """
from torpor import BaseOperator, TaskDeferred, defer
class Drop:
    def __init__(self, **kwargs): self.kwargs = kwargs
    def serialize(self): return "http", self.kwargs
def after(event, **state): pass
"""

CASES: list[tuple[str, str, str, str]] = [
    (
        "a wait for something that is no trigger",
        WAIT + "def load(path): return defer(5, then=after)",
        "DeferralInvalid",
        "an object of type int is not a trigger: pass an instance with serialize(), as in torpor.triggers",
    ),
    (
        "a wait for a trigger's class",
        WAIT + "def load(path): return defer(Drop, then=after)",
        "DeferralInvalid",
        "the class Drop is not a trigger: pass an instance",
    ),
    (
        "a trigger that serializes to something else",
        WAIT + "class Odd:\n def serialize(self): return 'time'\ndef load(path): return defer(Odd(), then=after)",
        "DeferralInvalid",
        "Odd.serialize() returned 'time', not (name, kwargs)",
    ),
    (
        "a trigger whose kwargs are not JSON",
        WAIT + "def load(path): return defer(Drop(url=object()), then=after)",
        "DeferralInvalid",
        "the kwargs of trigger http are not JSON: $.url is of type object",
    ),
    (
        "a trigger whose kwargs are too large",
        WAIT + "def load(path): return defer(Drop(url='x' * 5000), then=after)",
        "DeferralInvalid",
        "limit is 4096",
    ),
    (
        "a trigger with a value to seal, where the pool has no key",
        WAIT + "def load(path): return defer(Drop(encrypted__token='x'), then=after)",
        "DeferralInvalid",
        "trigger http: encrypted__token: the triggerer pool has not published a key yet",
    ),
    (
        "a state that is not JSON",
        WAIT + "def load(path): return defer(Drop(), then=after, seen={print})",
        "DeferralInvalid",
        "the state of the deferral is not JSON: $.seen[] is of type builtin_function_or_method",
    ),
    (
        "a state that is too large",
        WAIT + "def load(path): return defer(Drop(), then=after, seen='x' * 4096)",
        "DeferralInvalid",
        "the state of the deferral has 4107 bytes of JSON, above the limit of 4096",
    ),
    (
        "a state that is called event",
        WAIT + "def load(path): return defer(Drop(), then=after, event=1)",
        "DeferralInvalid",
        "must not contain `event`",
    ),
    (
        "a lambda to go on in",
        WAIT + "def load(path): return defer(Drop(), then=lambda event: 1)",
        "DeferralInvalid",
        "is a lambda or a nested function: move it to the top level of its module",
    ),
    (
        "an inner function to go on in",
        WAIT + "def load(path):\n def after(event): pass\n return defer(Drop(), then=after)",
        "DeferralInvalid",
        "then=load.<locals>.after is a lambda or a nested function",
    ),
    (
        "a name to go on in",
        WAIT + "def load(path): return defer(Drop(), then='after')",
        "DeferralInvalid",
        "then= must be a function, not an object of type str",
    ),
    (
        "a method to go on in",
        WAIT + "class A:\n def m(self): pass\ndef load(path): return defer(Drop(), then=A().m)",
        "DeferralInvalid",
        "for a method, raise TaskDeferred or call self.defer",
    ),
    (
        "a function to go on in that its module does not have",
        WAIT + "def load(path): raise TaskDeferred(trigger=Drop(), method_name='afterwards')",
        "DeferralInvalid",
        "has no function 'afterwards' to resume in",
    ),
    (
        "a function to go on in that takes no event",
        WAIT + "def load(path): return defer(Drop(), then=end)\ndef end(): pass",
        "DeferralInvalid",
        "got an unexpected keyword argument 'event'; end() is given event",
    ),
    (
        "a function to go on in that does not take the state",
        WAIT + "def load(path): return defer(Drop(), then=end, seen=1)\ndef end(event, last): pass",
        "DeferralInvalid",
        "end(event, last) is given seen, event",
    ),
    (
        "a method to resume in that takes no context",
        WAIT
        + "class load(BaseOperator):\n def __init__(self, path): pass\n"
        + " def execute(self, context): self.defer(trigger=Drop(), method_name='end')\n def end(self, event): pass",
        "DeferralInvalid",
        "could not resume in end: multiple values for argument 'event'",
    ),
    (
        "execute to resume in, which takes no event",
        WAIT
        + "class load(BaseOperator):\n def __init__(self, path): pass\n"
        + " def execute(self, context): self.defer(trigger=Drop(), method_name='execute')",
        "DeferralInvalid",
        "load.execute(context) is given event",
    ),
    (
        "a timeout's function that does not take the state",
        WAIT + "def load(path): return defer(Drop(), then=after, on_timeout=end, timeout=1, n=1)\ndef end(): pass",
        "DeferralInvalid",
        "end() is given n",
    ),
    (
        "a timeout's method that is not there",
        WAIT
        + "class load(BaseOperator):\n def __init__(self, path): pass\n"
        + " def execute(self, context): self.defer(trigger=Drop(), method_name='end', timeout=1, on_timeout='late')\n"
        + " def end(self, context, event): pass",
        "DeferralInvalid",
        "load has no method 'late' to resume in",
    ),
    (
        "a timeout's function without a timeout",
        WAIT + "def load(path): return defer(Drop(), then=after, on_timeout=after)",
        "DeferralInvalid",
        "on_timeout= requires timeout=",
    ),
    (
        "a timeout's function that is a lambda",
        WAIT + "def load(path): return defer(Drop(), then=after, timeout=1, on_timeout=lambda: 1)",
        "DeferralInvalid",
        "on_timeout=load.<locals>.<lambda> is a lambda",
    ),
    (
        "a deferral that was put together by hand",
        WAIT + "from torpor import Deferral\ndef load(path): return Deferral(Drop(), 'after', {}, None)",
        "DeferralInvalid",
        "there is no after to resume in; defer with defer(...)",
    ),
    (
        "kwargs that are no mapping",
        WAIT + "def load(path): raise TaskDeferred(trigger=Drop(), method_name='after', kwargs=[1])",
        "DeferralInvalid",
        "kwargs= must be a dict, not an object of type list",
    ),
    (
        "a method that is not named by text",
        WAIT + "def load(path): raise TaskDeferred(trigger=Drop(), method_name=after)",
        "DeferralInvalid",
        "method_name= must be a name, not an object of type function",
    ),
    (
        "a wait that is not returned",
        WAIT + "def load(path): defer(Drop(), then=after)",
        "DeferralInvalid",
        "write `return defer(...)`",
    ),
    (
        "a timeout that is no time",
        WAIT + "def load(path): return defer(Drop(), then=after, timeout='soon')",
        "DeferralInvalid",
        "timeout: 'soon' is not a duration",
    ),
    (
        "a timeout of another type",
        WAIT + "def load(path): return defer(Drop(), then=after, timeout=[1])",
        "DeferralInvalid",
        "timeout must be a timedelta, seconds or text such as 6h, not [1]",
    ),
    (
        "a timeout in the past",
        WAIT + "def load(path): return defer(Drop(), then=after, timeout=-1)",
        "DeferralInvalid",
        "timeout is -1.0 seconds",
    ),
]


@pytest.mark.parametrize(("source", "reason", "message"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_an_invalid_deferral_fails_before_the_wait_without_a_retry(
    task: Callable[..., TaskPod], source: str, reason: str, message: str
) -> None:
    pod = task(source, spec=None, path="a.csv")
    pod.cluster.taskruns[pod.name]["spec"] |= AGAIN

    assert pod.run() == 1
    assert pod.status["state"] == "Failed"
    assert pod.status["reason"] == reason
    assert message in pod.status["message"]


def test_a_method_that_no_longer_takes_the_event_fails_with_a_message(task: Callable[..., TaskPod]) -> None:
    pod = task(WAIT + "def load(): return defer(Drop(), then=after)\ndef end(): pass")
    pod.run()
    pod.status["next"]["method"] = pod.status["next"]["method"].replace("after", "end")
    pod.fire(1)

    assert pod.run() == 1
    assert pod.status["reason"] == "ArgumentsInvalid"
    assert "unexpected keyword argument 'event'" in pod.status["message"]
