"""The runtime calls the function of a task, and checks the signature of the function."""

import pytest
from torpor import DeferralError, defer
from torpor.runtime import call_checks, entrypoint
from torpor.triggers import Duration

from tests.unit.worker.authoring.sample import collect, load


def test_the_runtime_checks_the_signature_of_a_task_and_not_that_of_its_mark() -> None:
    assert entrypoint.enter(load, {"path": "abc"}, None, None) == 3  # type: ignore[arg-type]
    with pytest.raises(Exception, match=r"missing 1 required positional argument: 'path'; load\(path: str"):
        entrypoint.enter(load, {"minimum": 1}, None, None)  # type: ignore[arg-type]


def test_a_marked_function_that_cannot_resume_is_refused_before_the_deferral() -> None:
    deferral = defer(Duration(60), then=collect, pth="x")  # type: ignore[call-overload]
    with pytest.raises(DeferralError, match=r"could not resume in .*: missing a required argument"):
        call_checks.checked(deferral, None, None)  # type: ignore[arg-type]
    assert call_checks.checked(defer(Duration(60), then=collect, path="x"), None, None)  # type: ignore[arg-type]
