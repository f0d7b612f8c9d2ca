"""The environment of a task pod: one variable, and the token that names the pod."""

import pytest
from torpor.runtime import environment
from torpor.runtime.environment import LaunchError
from torpor_wire import constants
from torpor_wire.runtime_variable import RuntimeVariable

from tests.support.runtime import tokens

VARIABLE = RuntimeVariable("default", "run-load-abcde", "taskrun-uid", "2026-01-01T00:00:00Z", attempt=2, segment=1)


def read(text: str, **others: str) -> environment.Launch:
    return environment.read({constants.ENV_RUNTIME: text} | others, "nonce", "pod-uid")


def test_the_pod_has_the_name_of_its_attempt_and_segment() -> None:
    environment = read(VARIABLE.text())
    assert (environment.namespace, environment.taskrun, environment.uid) == ("default", "run-load-abcde", "taskrun-uid")
    assert (environment.attempt, environment.segment, environment.launch, environment.started) == (2, 1, 0, None)
    assert (environment.pod, environment.pod_uid) == ("run-load-abcde-a2-s1", "pod-uid")


def test_only_fields_with_a_value_are_written() -> None:
    assert VARIABLE.text() == (
        '{"namespace":"default","taskrun":"run-load-abcde","uid":"taskrun-uid","created":"2026-01-01T00:00:00Z",'
        '"attempt":2,"segment":1}'
    )


def test_a_field_of_a_newer_operator_is_ignored() -> None:
    assert read(VARIABLE.text()[:-1] + ',"color":"red"}') == read(VARIABLE.text())


def test_a_local_run_names_its_archive_by_a_variable() -> None:
    environment = read(VARIABLE.text(), **{constants.ENV_ARCHIVE_URL: "unix:/run/archive"})
    assert environment.archive_url == "unix:/run/archive"


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"namespace":"default"}'])
def test_an_invalid_variable_is_named(text: str) -> None:
    with pytest.raises(LaunchError, match="TORPOR_RUNTIME is invalid"):
        read(text)


def test_a_process_outside_a_pod_is_named() -> None:
    with pytest.raises(LaunchError, match="TORPOR_RUNTIME is not set"):
        environment.read({}, "nonce", "")


@pytest.mark.parametrize("uid", ["0", "ff", "6a1b2c3d-0000-4000-8000-000000000001", "ü>?~"])
def test_the_token_has_the_uid_of_its_pod(uid: str) -> None:
    assert environment.pod_uid(tokens.bound_to(uid)) == uid


@pytest.mark.parametrize("token", ["", "word", "a.b.c", "a.e30.c", "a.W10.c", "a.bnVsbA.c"])
def test_a_token_that_names_no_pod_is_reported(token: str) -> None:
    with pytest.raises(LaunchError, match="is not bound to a pod"):
        environment.pod_uid(token)
