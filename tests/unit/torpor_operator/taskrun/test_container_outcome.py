"""The outcome document of a container: a total function from the termination message."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_operator.taskrun.outcomes import container_outcome
from torpor_operator.taskrun.outcomes.container_outcome import (
    ArchivedResult,
    ContainerDeferral,
    ContainerFailure,
    ContainerResult,
    ContainerSkip,
    DocumentRules,
    InvalidOutcome,
)
from torpor_wire import canonical

from tests.support.builders import Body

_HTTP = {"class": "http", "kwargs": {"url": "https://example.org"}}
_RULES = DocumentRules(nonce="n")


def parse(message: str) -> container_outcome.ContainerOutcome:
    """The outcome of a program that may write documents with the nonce n."""
    return container_outcome.parse(message, _RULES)


def written(**body: Any) -> container_outcome.ContainerOutcome:
    """The outcome of a document of version 1."""
    return parse(json.dumps({"torpor": 1, "nonce": "n", **body}))


def deferral(**fields: Any) -> container_outcome.ContainerOutcome:
    return written(defer={"trigger": _HTTP, **fields})


def test_a_result_may_be_any_json_value() -> None:
    assert written(result={"rows": [1, 2.0, None]}) == ContainerResult(text='{"rows":[1,2.0,null]}')
    assert written(result=None) == ContainerResult(text="null")
    assert written(result={"torpor": 2}) == ContainerResult(text='{"torpor":2}')


def test_an_object_without_the_mark_is_a_result() -> None:
    assert parse('{"defer": {}}') == ContainerResult(text='{"defer":{}}')
    assert parse('["torpor", 1]') == ContainerResult(text='["torpor",1]')


@pytest.mark.attack
@pytest.mark.parametrize(
    "body",
    [{"defer": {"trigger": _HTTP}}, {"skip": {}}, {"fail": {"message": "no", "retryable": False}}, {"result": 1}],
)
def test_what_a_server_answers_is_a_result_unless_the_author_opts_in(body: Body) -> None:
    answer = {"torpor": 1, "nonce": "", **body}
    assert container_outcome.parse(json.dumps(answer), None) == ContainerResult(text=canonical.plain(answer))


@pytest.mark.attack
@pytest.mark.parametrize("nonce", [{}, {"nonce": ""}, {"nonce": None}, {"nonce": "m"}, {"nonce": ["n"]}])
@pytest.mark.parametrize("rules", [_RULES, DocumentRules(nonce="")])
def test_a_document_without_the_nonce_of_the_pod_does_not_count(nonce: Body, rules: DocumentRules) -> None:
    outcome = container_outcome.parse(json.dumps({"torpor": 1, **nonce, "defer": {"trigger": _HTTP}}), rules)
    assert isinstance(outcome, InvalidOutcome)
    assert outcome.reason == "ResultInvalid"
    assert "of TORPOR_OUTCOME_NONCE" in outcome.message


def test_a_deferral_has_a_trigger_a_state_and_a_timeout() -> None:
    assert deferral(state={"job": [7, 1.0]}, timeout="1h30m") == ContainerDeferral(
        class_name="http",
        kwargs={"url": "https://example.org"},
        state='{"job":[7,1.0]}',
        timeout=5400.0,
        resumes_on_timeout=False,
    )


def test_state_timeout_and_kwargs_may_be_absent() -> None:
    pod_outcome = written(defer={"trigger": {"class": "webhook"}})
    assert pod_outcome == ContainerDeferral(
        class_name="webhook", kwargs={}, state="null", timeout=None, resumes_on_timeout=False
    )


def test_a_timeout_may_resume_the_program() -> None:
    deferred = deferral(timeout="5m", onTimeout="resume")
    assert isinstance(deferred, ContainerDeferral)
    assert deferred.resumes_on_timeout


def test_a_failure_is_retryable_unless_the_program_denies_it() -> None:
    assert written(fail={"message": "no such table"}) == ContainerFailure(message="no such table", retryable=True)
    assert written(fail={"message": "no", "retryable": False}) == ContainerFailure(message="no", retryable=False)


def test_a_skip_may_have_a_message() -> None:
    assert written(skip={"message": "no new files"}) == ContainerSkip(message="no new files")
    assert written(skip={}) == ContainerSkip(message="the task skipped itself")


def test_a_result_in_the_archive_is_described() -> None:
    pod_outcome = written(archived={"size": 9000, "digest": "a" * 64, "type": "list", "length": 3})
    assert isinstance(pod_outcome, ArchivedResult)
    assert pod_outcome.stored.to_json() == {"size": 9000, "digest": "a" * 64, "type": "list", "length": 3}


INVALID: dict[str, tuple[Body, str, str]] = {
    "another version": ({"torpor": 2, "result": 1}, "ResultInvalid", "must be the version, the number 1, not 2"),
    "a version as text": ({"torpor": "1", "result": 1}, "ResultInvalid", 'not "1"'),
    "true as version": ({"torpor": True, "result": 1}, "ResultInvalid", "not true"),
    "nothing else": ({"torpor": 1}, "ResultInvalid", "has no other key"),
    "both result and deferral": (
        {"torpor": 1, "result": 1, "defer": {"trigger": _HTTP}},
        "ResultInvalid",
        'write exactly one of "result", "defer", "fail" and "skip"',
    ),
    "an unknown key": ({"torpor": 1, "results": 1}, "ResultInvalid", 'has "results" beside "torpor"'),
    "an unknown key beside a result": ({"torpor": 1, "result": 1, "x": 2}, "ResultInvalid", '"result", "x"'),
    "a deferral that is a list": ({"torpor": 1, "defer": []}, "DeferralInvalid", '"defer" is []: write a JSON object'),
    "an unknown key of a deferral": (
        {"torpor": 1, "defer": {"trigger": _HTTP, "kwargs": {}}},
        "DeferralInvalid",
        'has the unknown key "kwargs": the keys are "onTimeout", "state", "timeout", "trigger"',
    ),
    "no trigger": ({"torpor": 1, "defer": {"state": 1}}, "DeferralInvalid", '"defer.trigger" is null'),
    "no class": ({"torpor": 1, "defer": {"trigger": {}}}, "DeferralInvalid", '"defer.trigger.class" is null'),
    "an invalid class": (
        {"torpor": 1, "defer": {"trigger": {"class": "a b"}}},
        "DeferralInvalid",
        'write the name of a trigger class, such as "http"',
    ),
    "a class with a line break": (
        {"torpor": 1, "defer": {"trigger": {"class": "http\n"}}},
        "DeferralInvalid",
        "write the name of a trigger class",
    ),
    "a class that is too long": (
        {"torpor": 1, "defer": {"trigger": {"class": "a" * 254}}},
        "DeferralInvalid",
        "write the name of a trigger class",
    ),
    "kwargs that are a list": (
        {"torpor": 1, "defer": {"trigger": {"class": "http", "kwargs": [1]}}},
        "DeferralInvalid",
        '"defer.trigger.kwargs" is [1]: write a JSON object',
    ),
    "a timeout as number": (
        {"torpor": 1, "defer": {"trigger": _HTTP, "timeout": 60}},
        "DeferralInvalid",
        '"defer.timeout": 60 is not a duration; write 30s, 5m, 1h30m or 7d as text',
    ),
    "a timeout that is no duration": (
        {"torpor": 1, "defer": {"trigger": _HTTP, "timeout": "soon"}},
        "DeferralInvalid",
        "'soon' is not a duration",
    ),
    "an unknown onTimeout": (
        {"torpor": 1, "defer": {"trigger": _HTTP, "timeout": "1h", "onTimeout": "retry"}},
        "DeferralInvalid",
        'write "resume", or omit it',
    ),
    "onTimeout without timeout": (
        {"torpor": 1, "defer": {"trigger": _HTTP, "onTimeout": "resume"}},
        "DeferralInvalid",
        'requires "defer.timeout"',
    ),
    "a failure without a message": ({"torpor": 1, "fail": {}}, "ResultInvalid", '"fail.message" is null'),
    "a failure that is text": ({"torpor": 1, "fail": "no"}, "ResultInvalid", '"fail" is "no": write a JSON object'),
    "retryable as text": (
        {"torpor": 1, "fail": {"message": "no", "retryable": "false"}},
        "ResultInvalid",
        '"fail.retryable" is "false": write true or false',
    ),
    "a skip with a number": ({"torpor": 1, "skip": {"message": 1}}, "ResultInvalid", '"skip.message" is 1'),
    "an archived result without size": (
        {"torpor": 1, "archived": {"digest": "a" * 64, "type": "list"}},
        "ResultInvalid",
        '"archived.size": Field required',
    ),
    "an archived result of an unknown type": (
        {"torpor": 1, "archived": {"size": 1, "digest": "a" * 64, "type": "tuple"}},
        "ResultInvalid",
        '"archived.type"',
    ),
    "an archived result with a path as digest": (
        {"torpor": 1, "archived": {"size": 1, "digest": "../" + "a" * 61, "type": "list"}},
        "ResultInvalid",
        '"archived.digest" is "../aaa',
    ),
    "an archived result with another key": (
        {"torpor": 1, "archived": {"size": 1, "digest": "a" * 64, "type": "list", "url": "u"}},
        "ResultInvalid",
        '"archived" has the unknown key "url"',
    ),
}


@pytest.mark.parametrize("case", INVALID)
def test_an_invalid_document_says_what_to_write(case: str) -> None:
    document, reason, message = INVALID[case]
    outcome = parse(json.dumps({"nonce": "n", **document}))
    assert isinstance(outcome, InvalidOutcome)
    assert outcome.reason == reason
    assert message in outcome.message


@pytest.mark.parametrize("message", ['{"torpor": 1, "result": NaN}', '{"torpor": 1, "res', '{"torpor": 1} {}'])
def test_a_document_that_is_no_json_is_invalid(message: str) -> None:
    outcome = parse(message)
    assert isinstance(outcome, InvalidOutcome)
    assert "is not valid JSON" in outcome.message


def test_a_state_that_grows_beyond_its_limit_as_json_is_invalid() -> None:
    outcome = parse('{"torpor":1,"nonce":"n","defer":{"trigger":{"class":"http"},"state":[' + "9e15," * 700 + "1]}}")
    assert isinstance(outcome, InvalidOutcome)
    assert '"defer.state" has' in outcome.message
    assert "the limit is 4096" in outcome.message


@pytest.mark.parametrize("field", ["state", "result"])
def test_deep_nesting_is_bounded(field: str) -> None:
    deep = "[" * 1500 + "]" * 1500
    body = f'"defer":{{"trigger":{{"class":"http"}},"state":{deep}}}' if field == "state" else f'"result":{deep}'
    parse(f'{{"torpor":1,"nonce":"n",{body}}}')


def test_deep_kwargs_are_invalid() -> None:
    deep = "[" * 300 + "]" * 300
    outcome = parse(f'{{"torpor":1,"nonce":"n","defer":{{"trigger":{{"class":"http","kwargs":{{"a":{deep}}}}}}}}}')
    assert isinstance(outcome, InvalidOutcome)
    assert "nested" in outcome.message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["resume", "1h"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["class", "kwargs", "secrets", "state", "timeout", "trigger", "onTimeout", "message", "/a"])
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    document=st.dictionaries(
        st.sampled_from(["result", "defer", "fail", "skip", "archived", "x"]), JSON, min_size=1, max_size=2
    )
)
def test_every_document_is_an_outcome(document: Body) -> None:
    written(**document)


@given(message=st.text(max_size=300) | st.binary(max_size=300).map(lambda data: data.decode(errors="surrogateescape")))
def test_every_message_is_an_outcome(message: str) -> None:
    parse(message)
    container_outcome.parse(message, None)
