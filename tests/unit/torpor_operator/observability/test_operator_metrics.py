"""What `/metrics` of the operator says, seen on a whole controller with an API server in memory."""

import pytest
from prometheus_client.parser import text_string_to_metric_families
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.observed_transport import ObservedTransport, resource_in
from torpor_kubernetes.client.transport import Response
from torpor_operator.observability.operator_metrics import OperatorMetrics
from torpor_operator.settings import Settings

from tests.support.builders import NAMESPACE, python
from tests.support.controller_harness import ControllerHarness


def read(metrics: OperatorMetrics, name: str, **labels: str) -> float:
    """The sum of the samples of that name with these labels."""
    return sum(
        sample.value
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


def fail_second(task: str, attempt: int) -> str | None:
    if task == "second":
        raise RuntimeError("no such table")
    return None


async def test_runs_and_tasks_are_counted_by_state_and_measured_at_their_end() -> None:
    harness = ControllerHarness(Settings())
    harness.script = fail_second
    async with harness.running():
        metrics = harness.context.metrics
        harness.create("good", python("first"))
        harness.create("bad", python("first"), python("second", after=["first"]))
        await harness.advance(10)
        assert harness.state("bad") == "Failed"
        of_run = {"namespace": NAMESPACE, "template": "", "schedule": ""}
        assert read(metrics, "torpor_runs", state="Succeeded", **of_run) == 1
        assert read(metrics, "torpor_runs", state="Failed", **of_run) == 1
        assert read(metrics, "torpor_run_duration_seconds_count", state="Failed", **of_run) == 1
        assert read(metrics, "torpor_run_queue_duration_seconds_count", **of_run) == 2
        assert read(metrics, "torpor_taskruns", state="Succeeded", namespace=NAMESPACE) == 2
        assert read(metrics, "torpor_taskrun_duration_seconds_count", state="Succeeded", **of_run) == 2
        assert read(metrics, "torpor_taskrun_queue_duration_seconds_count", **of_run) == 3


async def test_passes_plans_and_the_queue_are_measured_by_kind() -> None:
    harness = ControllerHarness(Settings())
    async with harness.running():
        metrics = harness.context.metrics
        harness.create("run", python("first"))
        await harness.advance(5)
        passes = read(metrics, "torpor_operator_reconcile_total", kind="Workflow", result="success")
        assert passes >= 3
        assert read(metrics, "torpor_operator_reconcile_time_seconds_count", kind="Workflow") == passes
        assert read(metrics, "torpor_operator_plan_time_seconds_count", kind="Workflow") >= passes - 1
        assert read(metrics, "torpor_operator_workqueue_queue_duration_seconds_count", kind="Workflow") == passes
        assert read(metrics, "torpor_operator_workqueue_depth", kind="Workflow") == 0
        assert read(metrics, "torpor_operator_leader") == 1
        assert read(metrics, "torpor_operator_cache_objects", kind="TaskRun") == 1
        assert read(metrics, "torpor_operator_cache_age_seconds", kind="Pod") < 60


async def test_a_deleted_run_and_its_tasks_are_no_longer_counted() -> None:
    harness = ControllerHarness(Settings())
    async with harness.running():
        metrics = harness.context.metrics
        harness.create("run", python("first"), ttlAfterFinished="2s")
        await harness.advance(5)
        assert read(metrics, "torpor_runs") == 0


class RefusingTransport:
    def __init__(self, response: Response | None) -> None:
        self._response = response

    async def request(self, method: str, path: str, **_: object) -> Response:
        if self._response is None:
            raise errors.Unreachable("no route")
        return self._response


@pytest.mark.parametrize(
    ("response", "result"),
    [
        (Response(200, {}), "OK"),
        (Response(409, {"reason": "AlreadyExists"}), "AlreadyExists"),
        (Response(422, {}), "LostRace"),
        (Response(503, {}), "ApiUnavailable"),
        (None, "Unreachable"),
    ],
)
async def test_each_write_counts_once_by_its_result(response: Response | None, result: str) -> None:
    metrics = OperatorMetrics()
    transport = ObservedTransport(RefusingTransport(response), metrics.wrote, lambda: 0.0)  # type: ignore[arg-type]
    path = "/apis/torpor.dev/v1alpha1/namespaces/ns/taskruns/x/status"
    try:
        await transport.request("PATCH", path)
        await transport.request("GET", path)
    except errors.Unreachable:
        assert response is None
    assert read(metrics, "torpor_operator_writes_total") == 1
    assert read(metrics, "torpor_operator_writes_total", resource="taskruns/status", verb="patch", result=result) == 1


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        ("/api/v1/namespaces/ns/pods", "pods"),
        ("/api/v1/namespaces/ns/pods/x", "pods"),
        ("/apis/torpor.dev/v1alpha1/namespaces/ns/workflows/x/status", "workflows/status"),
        ("/apis/coordination.k8s.io/v1/namespaces/torpor-system/leases/torpor-operator", "leases"),
        ("/api/v1/namespaces/ns", "namespaces"),
    ],
)
def test_the_label_of_a_write_is_its_resource_without_names(path: str, resource: str) -> None:
    assert resource_in(path) == resource
