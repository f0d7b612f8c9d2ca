"""An installation without WorkflowTemplates, Schedules and Backfills, as an earlier version has it."""

from dataclasses import replace

import pytest
from torpor_cli.diagnosis import cluster_checks
from torpor_cli.diagnosis.facts import Status

from tests.unit.cli.diagnosis.healthy import HEALTHY, PUBLISHED, SCHEMAS, role


def test_the_kinds_that_are_not_served_are_named() -> None:
    earlier = {kind: PUBLISHED[kind] for kind in ("Workflow", "TaskRun")}
    checks = cluster_checks.kinds(replace(HEALTHY, schemas=earlier), SCHEMAS)
    missing = "workflowtemplates.torpor.dev, clusterworkflowtemplates.torpor.dev, schedules.torpor.dev"
    assert (checks.status, checks.message) == (Status.FAILED, f"the cluster does not serve {missing} and 1 more")


@pytest.mark.parametrize(("name", "verb"), [("view", "list"), ("edit", "create")])
def test_the_roles_include_schedules(name: str, verb: str) -> None:
    earlier = role([verb], ["workflows", "taskruns"])
    facts = replace(HEALTHY, view=earlier) if name == "view" else replace(HEALTHY, edit=earlier)
    checks = cluster_checks.roles(facts)
    message = f"ClusterRole {name} does not include {verb} schedules.torpor.dev"
    assert (checks.status, checks.message) == (Status.FAILED, message)
