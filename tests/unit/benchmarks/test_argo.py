"""What the bench beside Argo asks of Argo, how it reads what it measured, and how it scales what was quoted."""

from typing import Any

import pytest

from benchmarks.argo import objects, quoted, rows
from benchmarks.argo.rows import TORPOR, Row
from benchmarks.argo.scenarios import CHAIN, FAN, MANY, Scenario
from benchmarks.workflow.measurement import Measurement

CPU = {"etcd": 1.0, "kube-apiserver": 8.0, "workflow-controller": 4.0, "client": 0.5, "foreign": 100.0}


def taken(tasks: int, wall: float, **cpu: float) -> Measurement:
    return Measurement(name="it", tasks=tasks, wall=wall, cpu=cpu or CPU)


def row(scenario: Scenario, measurement: Measurement, system: str = TORPOR) -> Row:
    return Row(scenario=scenario, system=system, taken=measurement)


def cells(floor: Measurement, one: Row) -> dict[str, str]:
    """The row of the table by the heads of its columns."""
    head, _, _, line = rows.table(floor, [one]).splitlines()
    parted = [[cell.strip() for cell in text.strip("| ").split(" | ")] for text in (head, line)]
    return dict(zip(*parted, strict=True))


def phase(name: str) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "status": {"phase": name}}


def test_a_row_is_told_in_floors_of_its_own_size() -> None:
    assert row(Scenario(FAN, 1000), taken(1000, 10.0)).floors(taken(500, 2.5)) == 2.0


def test_processor_time_is_told_by_process_and_without_that_of_others() -> None:
    found = cells(taken(1000, 5.0), row(Scenario(FAN, 1000), taken(1000, 10.0)))
    assert found["CPU ms per task"] == "13.5"
    assert found["its controller"] == "4.0"
    assert found["API server and etcd"] == "9.0"
    assert found["cores of others"] == "10.0"


def test_what_was_not_measured_is_not_told_as_zero() -> None:
    partial = taken(1000, 10.0, **{"kube-apiserver": 8.0, "workflow-controller": 4.0})
    found = cells(taken(1000, 5.0), row(Scenario(FAN, 1000), partial))
    assert found["scheduler and controllers"] == found["CPU ms per task"] == found["cores of others"] == "-"


def test_a_chain_is_told_by_its_step_and_not_in_floors() -> None:
    found = cells(taken(1000, 5.0), row(Scenario(CHAIN, 20), taken(20, 2.0)))
    assert found["wall"] == "2.00 s (0.100 s per step)"
    assert found["floors"] == "-"


def test_both_systems_and_the_floor_are_in_the_json() -> None:
    floor = taken(1000, 5.0)
    both = [row(Scenario(MANY, 200), taken(200, 6.0), system) for system in (TORPOR, "Argo")]
    found = rows.body(floor, both)
    assert found["floor"]["wall"] == 5.0
    assert [one["system"] for one in found["rows"]] == [TORPOR, "Argo"]
    assert found["rows"][1]["ms_per_task"]["its controller"] == 20.0
    assert found["rows"][1]["ms_per_task"]["scheduler and controllers"] is None


def test_a_quoted_wall_is_scaled_by_the_floors_of_both_days() -> None:
    slower = taken(500, quoted.FLOOR.wall, **quoted.FLOOR.cpu)  # half as fast: twice the floor of as many pods
    found = quoted.scaled(Scenario(FAN, 1000), slower)
    assert found is not None
    assert found.wall == pytest.approx(2 * 18.43)
    assert found.each("workflow-controller") == pytest.approx(2 * 4.21)


def test_a_quoted_chain_keeps_its_timer_on_a_slower_machine() -> None:
    slower = taken(500, quoted.FLOOR.wall, **quoted.FLOOR.cpu)
    found = quoted.scaled(Scenario(CHAIN, 20), slower)
    assert found is not None
    assert found.wall == pytest.approx(20 * 1.011)


def test_a_size_that_nobody_measured_is_not_guessed() -> None:
    assert quoted.scaled(Scenario(FAN, 200), quoted.FLOOR) is None


@pytest.mark.parametrize("name", ["Succeeded", "Failed", "Error"])
def test_a_workflow_of_argo_has_ended_in_each_of_its_last_phases(name: str) -> None:
    assert objects.ended(phase(name)) == ("a", name)


@pytest.mark.parametrize("body", [phase("Running"), phase(""), {"metadata": {"name": "a"}}])
def test_a_workflow_of_argo_without_such_a_phase_runs(body: dict[str, Any]) -> None:
    assert objects.ended(body) == ("a", "")


def test_a_fan_out_of_argo_is_one_step_with_as_many_pods() -> None:
    main, step = objects.fan_out("run", 1000)["spec"]["templates"]
    assert main["steps"] == [[{"name": "each", "template": step["name"], "withSequence": {"count": "1000"}}]]


def test_the_steps_of_a_chain_of_argo_follow_one_another() -> None:
    main, _ = objects.chain("run", 3)["spec"]["templates"]
    assert [[one["name"] for one in group] for group in main["steps"]] == [["s0"], ["s1"], ["s2"]]


def test_every_step_has_a_command_since_argo_would_ask_a_registry_for_that_of_the_image() -> None:
    bodies = [objects.fan_out("a", 2), objects.chain("b", 2), objects.single("c")]
    pods = [one["container"] for body in bodies for one in body["spec"]["templates"] if "container" in one]
    assert len(pods) == 3
    assert all(one["command"] for one in pods)


def test_every_kind_is_awaited_under_the_name_of_its_definition() -> None:
    made = objects.installation("system")["items"]
    names = [one["metadata"]["name"] for one in made if one["kind"] == "CustomResourceDefinition"]
    assert sorted(names) == sorted(objects.plurals())


def test_the_api_server_keeps_no_owner_of_each_field_of_a_node() -> None:
    made = objects.installation("system")["items"]
    definitions = [one["spec"]["versions"][0] for one in made if one["kind"] == "CustomResourceDefinition"]
    schemas = [one["schema"]["openAPIV3Schema"]["properties"] for one in definitions]
    assert all(one[part]["x-kubernetes-map-type"] == "atomic" for one in schemas for part in ("spec", "status"))


def test_the_controller_serves_no_metrics_to_the_network() -> None:
    made = objects.installation("system")["items"]
    (settings,) = [one for one in made if one["kind"] == "ConfigMap"]
    assert settings["metadata"]["name"] == objects.CONFIG
    assert settings["data"] == {"metricsConfig": "enabled: false\n"}
