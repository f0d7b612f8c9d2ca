"""Whatever the schemas let in: no controller stops, and no object is left without a word.

`TORPOR_FUZZ_EXAMPLES` says how many Workflows are tried, and as many TaskRuns (`make fuzz`).
"""

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.integration.conftest import collection
from tests.integration.controller.stage import ControllerFixture, Object, python
from tests.support import schema_values
from tests.support.manifests import manifest

pytestmark = [pytest.mark.attack, pytest.mark.usefixtures("others_go_on")]

_EXAMPLES = int(os.environ.get("TORPOR_FUZZ_EXAMPLES", "10"))
_AT_A_TIME = 8
_WORKFLOW = schema_values.spec_of("workflows")
_TASKRUN = schema_values.spec_of("taskruns")
_TASKS = _WORKFLOW["properties"]["tasks"]["items"]
_SPECS = st.tuples(
    st.one_of(st.just({}), schema_values.objects(_WORKFLOW, without=frozenset({"tasks"}))), schema_values.tasks(_TASKS)
).map(lambda parts: parts[0] | {"image": "tests", "tasks": parts[1]})
_settings = settings(
    max_examples=_EXAMPLES,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),  # to shrink against a cluster takes too long
    suppress_health_check=list(HealthCheck),
    derandomize="TORPOR_FUZZ_EXAMPLES" not in os.environ,
    database=None,
)


@pytest.fixture
def others_go_on(stage: ControllerFixture) -> Iterator[None]:
    """Whatever was created: the same controller leads, and a Workflow goes through."""
    leader = stage.leader()
    yield
    name = stage.submit([python("first", "echo")])
    assert stage.ends(name)["state"] == "Succeeded"
    stage.assert_still_leads(leader)


def _accepted(stage: ControllerFixture, kind: str, name: str, spec: Object) -> bool:
    """Whether the API server took the object; a refusal is the author's fault and says why."""
    body = manifest(kind, name, spec)
    answer = stage.server.create(f"{kind.lower()}s", stage.namespace, body)
    assert answer.status in {201, 400, 422}, (answer.status, answer.message, spec)
    assert answer.status == 201 or len(answer.message) > 20, (answer.message, spec)
    return answer.status == 201


def _answered(stage: ControllerFixture, plural: str, name: str) -> bool:
    status = stage.get(plural, name).get("status", {})
    stalled = any(each["type"] == "Stalled" and each["status"] == "True" for each in status.get("conditions", []))
    return bool(stalled or (status.get("state") if plural == "workflows" else status.get("reason")))


def _fuzzed(stage: ControllerFixture, kind: str, specs: list[Any]) -> None:
    plural, stem = f"{kind.lower()}s", f"fuzz-{time.monotonic_ns()}"
    named = {f"{stem}-{number}": spec for number, spec in enumerate(specs)}
    taken = {name: spec for name, spec in named.items() if _accepted(stage, kind, name, spec)}
    for name, spec in taken.items():
        stage.until(lambda name=name: _answered(stage, plural, name), f"a word on {name}: {spec}")  # type: ignore[misc]
    stage.assert_no_bug()
    for name in taken:
        stage.server.request("DELETE", f"{collection(plural, stage.namespace)}/{name}")
    for name, spec in taken.items():
        path = f"{collection(plural, stage.namespace)}/{name}"
        stage.until(lambda path=path: stage.server.request("GET", path).status == 404, f"{name} is gone: {spec}")  # type: ignore[misc]


@_settings
@given(specs=st.lists(_SPECS, min_size=_AT_A_TIME, max_size=_AT_A_TIME))
def test_workflows_of_any_shape(stage: ControllerFixture, specs: list[Any]) -> None:
    _fuzzed(stage, "Workflow", specs)


@_settings
@given(specs=st.lists(schema_values.objects(_TASKRUN), min_size=_AT_A_TIME, max_size=_AT_A_TIME))
def test_taskruns_of_any_shape(stage: ControllerFixture, specs: list[Any]) -> None:
    _fuzzed(stage, "TaskRun", specs)
