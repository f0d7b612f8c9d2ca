"""Queries of a plan: errors, variables, and what the reconciler keeps of the answers."""

import json
from collections.abc import Mapping
from typing import NoReturn

import pytest
from torpor_expressions.evaluator import EvaluatorUnavailable
from torpor_expressions.value import JSON
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import ACCOUNTS, CONFIG_MAPS
from torpor_operator.controller.queries import QueryResolver
from torpor_operator.model.actions import Evaluate, Need, ReadAccount
from torpor_operator.model.snapshot import AccountUse, Answer
from torpor_operator.settings import Settings
from torpor_operator.workflows.plan.planner import plan
from torpor_operator.workflows.reconciler import WorkflowMemory, without_variables
from torpor_wire import constants

from tests.support.builders import NAMESPACE, python
from tests.support.controller_harness import ControllerHarness
from tests.support.plan_fixture import PlanFixture


class NoChildren:
    """An evaluator on a machine that starts no more processes."""

    async def evaluate(self, expression: str, variables: Mapping[str, JSON], *, share: str = "") -> NoReturn:
        del share
        raise EvaluatorUnavailable(f"no process for {expression} over {len(variables)} values")


async def test_a_machine_without_processes_makes_an_evaluation_unavailable() -> None:
    harness = ControllerHarness(Settings())
    resolver = QueryResolver(Api(harness.fake, harness.clock), harness.cache, NoChildren())
    with pytest.raises(errors.ApiUnavailable, match="no process for 1 \\+ 1"):
        await resolver.resolve([Evaluate("1 + 1", (), {})])


@pytest.mark.attack
async def test_tasks_may_use_an_account_with_the_mark_alone() -> None:
    harness = ControllerHarness(Settings())
    harness.fake.serve(ACCOUNTS)
    marks = {"marked": "allowed", "denied": "no", "empty": "", "missing": None}
    for name, mark in marks.items():
        if mark is not None:
            metadata = {"namespace": "ns", "name": name, "annotations": {constants.ACCOUNT_TOKENS: mark}}
            harness.fake.put(ACCOUNTS, {"metadata": metadata})
    api, queries = Api(harness.fake, harness.clock), [ReadAccount("ns", name) for name in marks]
    answers = await QueryResolver(api, harness.cache, NoChildren()).resolve(queries)
    assert [answers[query] for query in queries] == [
        AccountUse.ALLOWED,
        AccountUse.NOT_ALLOWED,
        AccountUse.NOT_ALLOWED,
        AccountUse.NO_ACCOUNT,
    ]
    local = await QueryResolver(api, harness.cache, NoChildren(), has_accounts=False).resolve(queries)
    assert set(local.values()) == {AccountUse.ALLOWED}


def test_each_pass_asks_for_the_mark_of_an_account_again() -> None:
    memory = WorkflowMemory(answers={ReadAccount("ns", "deployer"): AccountUse.ALLOWED})
    memory.drop_momentary_answers()
    assert memory.answers == {}


WIDTH = 20


def zipped() -> PlanFixture:
    """A mapped task each instance of which takes the result of its own index."""
    expand = [{"name": "n", "over": list(range(WIDTH))}]
    world = PlanFixture(
        python("first", expand=expand),
        python("second", expand=expand, args={"x": "${tasks.first.results[mapping.index]}"}),
        parallelism=WIDTH,
    ).settle()
    for index in range(WIDTH):
        world.claim("first", index)
        world.report_success("first", index, json.dumps("x" * 100))
    return world


def evaluations(world: PlanFixture) -> list[Evaluate]:
    return [need for need in plan(world.snapshot()).needs if isinstance(need, Evaluate)]


def test_instances_that_read_the_same_results_share_them() -> None:
    needs = evaluations(zipped())
    assert len(needs) == len(set(needs)) == WIDTH
    assert len({id(need.variables["tasks"]["first"]["results"]) for need in needs}) == 1  # type: ignore[index, call-overload]
    assert all(len(str(need.sources)) < 1_000 for need in needs)


def test_an_answer_is_kept_without_its_variables() -> None:
    world = zipped()
    answers: dict[Need, Answer] = {need: world.api.answer(need) for need in evaluations(world)}
    kept = without_variables(answers)
    assert [need.variables for need in kept if isinstance(need, Evaluate)] == [{}] * WIDTH
    assert unanswered(world, kept) == []


def unanswered(world: PlanFixture, known: dict[Need, Answer]) -> list[Need]:
    return [need for need in plan(world.snapshot(known)).needs if need not in known]


LOAD = python("load", expand=[{"name": "day", "over": "${variables.days.split(',')}"}])


async def test_variables_are_read_from_the_configmap_of_the_workflows_namespace() -> None:
    async with ControllerHarness(Settings()).running() as harness:
        harness.fake.serve(CONFIG_MAPS)
        for namespace, days in ((NAMESPACE, "mon,tue"), ("other", "sat")):
            metadata = {"name": "settings", "namespace": namespace}
            harness.fake.put(CONFIG_MAPS, {"metadata": metadata, "data": {"days": days}})
        harness.create("run", LOAD, variablesFrom="settings")
        await harness.advance(3)
        assert harness.state("run") == "Succeeded"
        given = [harness.taskrun("run", "load", index)["spec"]["arguments"] for index in range(2)]
        assert [[argument["value"] for argument in arguments] for arguments in given] == [['"mon"'], ['"tue"']]


async def test_a_missing_configmap_of_variables_fails_the_tasks_that_use_them() -> None:
    async with ControllerHarness(Settings()).running() as harness:
        harness.fake.serve(CONFIG_MAPS)
        harness.create("run", LOAD, python("other"), variablesFrom="settings")
        await harness.advance(3)
        entries = {entry["name"]: entry for entry in harness.workflow("run")["status"]["tasks"]}
        assert entries["other"]["state"] == "Succeeded"
        message = "expand day: ConfigMap settings of spec.variablesFrom does not exist"
        assert (entries["load"]["reason"], entries["load"]["message"]) == ("ExpressionFailed", message)
