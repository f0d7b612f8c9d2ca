"""Secrets in the trigger of a container: references are separate from the kwargs, and nothing in them is one."""

import json
from typing import Any

import pytest
from torpor_operator.taskrun.outcomes import container_outcome
from torpor_operator.taskrun.outcomes.container_outcome import ContainerDeferral, DocumentRules, InvalidOutcome
from torpor_wire import secret_ref

from tests.support.builders import Body


def written(**body: Any) -> container_outcome.ContainerOutcome:
    """The outcome of a document of version 1, of a task that permits the key token of the Secret jobs."""
    rules = DocumentRules(nonce="n", secrets=frozenset({secret_ref.SecretRef("jobs", "token")}))
    return container_outcome.parse(json.dumps({"torpor": 1, "nonce": "n", **body}), rules)


def called(kwargs: Any, secrets: Any = None) -> container_outcome.ContainerOutcome:
    call = {"class": "http", "kwargs": kwargs} | ({} if secrets is None else {"secrets": secrets})
    return written(defer={"trigger": call})


TOKEN = {"name": "jobs", "key": "token"}
MARKED = {"__type": "secretRef", "__var": TOKEN}


def test_a_reference_to_a_secret_is_put_at_its_place() -> None:
    reason = called({"url": "u", "headers": {"A": "b"}}, {"/headers/Authorization": TOKEN, "/auth/a~1b": TOKEN})
    assert isinstance(reason, ContainerDeferral)
    assert reason.kwargs == {"url": "u", "headers": {"A": "b", "Authorization": MARKED}, "auth": {"a/b": MARKED}}


def test_a_reference_may_be_in_a_nested_trigger() -> None:
    parts = [{"class": "time", "kwargs": {}}, {"class": "http", "kwargs": {}}]
    pod_outcome = written(
        defer={
            "trigger": {"class": "any_of", "kwargs": {"triggers": parts}, "secrets": {"/triggers/1/kwargs/a": TOKEN}}
        }
    )
    assert isinstance(pod_outcome, ContainerDeferral)
    assert secret_ref.references(pod_outcome.kwargs) == {secret_ref.SecretRef("jobs", "token")}


@pytest.mark.attack
@pytest.mark.parametrize("reference", [{"name": "jobs", "key": "other"}, {"name": "other", "key": "token"}])
def test_a_secret_that_the_author_did_not_list_is_refused(reference: Body) -> None:
    reason = called({"url": "https://evil.example"}, {"/headers/Authorization": reference})
    assert isinstance(reason, InvalidOutcome)
    name, key = reference["name"], reference["key"]
    assert f"add {{name: {name}, key: {key}}} to container.triggerSecrets of the task" in reason.message


@pytest.mark.parametrize("nested", [False, True])
def test_a_reference_in_the_kwargs_came_as_data_and_is_rejected(nested: bool) -> None:
    data: Body = {"secretRef": TOKEN}
    reason = called({"headers": {"A": data}} if nested else data)
    assert isinstance(reason, InvalidOutcome)
    assert "contains a secretRef that came as data" in reason.message
    assert '"defer.trigger.secrets"' in reason.message


def test_data_with_the_mark_of_a_reference_stays_data() -> None:
    reason = called({"body": MARKED})
    assert isinstance(reason, ContainerDeferral)
    assert secret_ref.references(reason.kwargs) == frozenset()


@pytest.mark.parametrize(
    ("secrets", "message"),
    [
        ([], "must be an object"),
        ({"headers": TOKEN}, "is not a JSON Pointer"),
        ({"/url": TOKEN}, "is not a free place"),
        ({"/url/x": TOKEN}, "is not a free place"),
        ({"/list/7/x": TOKEN}, "is not a free place"),
        ({"/list/0": TOKEN}, "is not a free place"),
        ({"/a": TOKEN, "/a/name": TOKEN}, "is not a free place"),
        ({"/a": {"name": "jobs"}}, "a secretRef must be"),
        ({"/a": {"name": "JOBS", "key": "token"}}, "is not the name of a Secret"),
        ({"/" + "a/" * 1500: TOKEN}, "nested"),
        ({f"/{number}": TOKEN for number in range(33)}, "at most 32"),
    ],
)
def test_invalid_places_of_secrets_are_rejected(secrets: Any, message: str) -> None:
    reason = called({"url": "u", "list": [{}]}, secrets)
    assert isinstance(reason, InvalidOutcome)
    assert reason.reason == "DeferralInvalid"
    assert message in reason.message


@pytest.mark.parametrize("kwargs", [{"encrypted__token": "t"}, {"triggers": [{"kwargs": {"encrypted__token": "t"}}]}])
def test_a_plain_value_that_should_be_sealed_is_never_stored(kwargs: Body) -> None:
    reason = called(kwargs)
    assert isinstance(reason, InvalidOutcome)
    assert 'the argument "encrypted__token" of the trigger is not sealed' in reason.message


def test_a_value_that_is_sealed_already_is_kept() -> None:
    assert isinstance(called({"encrypted__token": "sealed:0123:abc"}), ContainerDeferral)
