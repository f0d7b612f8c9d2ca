"""Whose rights an object task has, and what it may act on."""

from collections.abc import AsyncIterator

import pytest
from torpor_triggerer.objects.judgement import OBJECT_MAX
from torpor_triggerer.services.account_tokens import TOKEN_SECONDS
from torpor_triggerer.services.account_transport import BYTES_PER_SECOND, ByteBudget
from torpor_wire import constants

from tests.support.cluster_accounts import JOBS
from tests.support.triggerer_fixture import NAMESPACE, triggerer_fixture
from tests.unit.triggerer.objects.test_object_tasks import DONE, ObjectWorld


@pytest.fixture
async def objects() -> AsyncIterator[ObjectWorld]:
    async with triggerer_fixture() as world:
        await world.start()
        yield ObjectWorld(world)


@pytest.mark.attack
async def test_an_account_that_its_owner_did_not_allow_is_not_used(objects: ObjectWorld) -> None:
    objects.accounts.add("admin", allowed=False)
    await objects.defer(account="admin", until=DONE)
    await objects.world.pass_time(120)
    state, reason, message = objects.outcome()
    assert (state, reason) == ("Failed", "ObjectForbidden")
    assert f"kubectl annotate serviceaccount admin -n {NAMESPACE} torpor.dev/tokens=allowed" in message
    assert (objects.accounts.tokens, objects.world.fake.all(JOBS)) == (0, [])


@pytest.mark.attack
async def test_a_namespace_that_has_not_opted_in_has_no_object_tasks(objects: ObjectWorld) -> None:
    objects.accounts.opted_in = False
    await objects.defer(until=DONE)
    await objects.world.pass_time(120)
    state, reason, message = objects.outcome()
    assert (state, reason) == ("Failed", "ObjectForbidden")
    assert "an administrator can add manifests/components/object-tasks" in message
    assert objects.accounts.tokens == 0


@pytest.mark.attack
async def test_an_account_without_the_right_fails_the_task(objects: ObjectWorld) -> None:
    objects.accounts.add("reader", may_act=False)
    await objects.defer(account="reader", until=DONE)
    await objects.world.pass_time(30)
    assert objects.outcome()[0] == "Deferred"
    await objects.world.pass_time(90)
    state, reason, message = objects.outcome()
    assert (state, reason) == ("Failed", "ObjectForbidden")
    assert (
        f"kubectl auth can-i watch jobs.batch -n {NAMESPACE} --as=system:serviceaccount:{NAMESPACE}:reader" in message
    )


async def test_a_right_that_comes_with_the_workflow_is_waited_for(objects: ObjectWorld) -> None:
    objects.accounts.add("late", may_act=False)
    await objects.defer(account="late", until=DONE)
    await objects.world.pass_time(20)
    objects.accounts.may_act.add("late")
    await objects.world.pass_time(30)
    await objects.finish()
    assert objects.outcome()[0] == "Succeeded"


@pytest.mark.attack
async def test_an_account_that_is_deleted_in_mid_wait_fails_the_task(objects: ObjectWorld) -> None:
    await objects.defer(until=DONE)
    del objects.accounts.allowed["builder"]
    objects.world.fake.end_watches(path="/jobs")
    await objects.world.pass_time(240)
    state, reason, message = objects.outcome()
    assert (state, reason) == ("Failed", "ObjectForbidden")
    assert f"ServiceAccount builder does not exist in namespace {NAMESPACE}" in message


@pytest.mark.attack
async def test_an_account_that_loses_its_rights_in_mid_wait_fails_the_task(objects: ObjectWorld) -> None:
    await objects.defer(until=DONE)
    objects.accounts.may_act.remove("builder")
    objects.world.fake.end_watches(path="/jobs")
    await objects.world.pass_time(240)
    state, reason, message = objects.outcome()
    assert (state, reason) == ("Failed", "ObjectForbidden")
    assert f"--as=system:serviceaccount:{NAMESPACE}:builder" in message


@pytest.mark.attack
async def test_an_account_whose_mark_is_withdrawn_in_mid_wait_fails_the_task(objects: ObjectWorld) -> None:
    await objects.defer(until=DONE)
    objects.accounts.allowed["builder"] = False
    await objects.world.pass_time(TOKEN_SECONDS)
    objects.world.fake.end_watches(path="/jobs")
    await objects.world.pass_time(240)
    state, reason, message = objects.outcome()
    assert (state, reason) == ("Failed", "ObjectForbidden")
    assert "ServiceAccount builder may not be used by tasks" in message


@pytest.mark.attack
async def test_a_pod_that_defers_itself_to_the_trigger_acts_on_nothing(objects: ObjectWorld) -> None:
    kwargs = {"action": "create", "api_version": "batch/v1", "kind": "Job"}
    objects.world.taskrun("pod", constants.OBJECT_TASK, kwargs, account="builder")
    await objects.world.settle()
    status = objects.world.status("pod")
    assert (status["state"], status["reason"]) == ("Failed", "TriggerInvalid")
    assert "only a task with `object` can use trigger object_task" in status["message"]
    assert objects.accounts.requests == []


@pytest.mark.attack
@pytest.mark.parametrize(
    ("metadata", "manifest", "words"),
    [
        ({"namespace": "kube-system"}, {}, "remove metadata.namespace"),
        ({"ownerReferences": []}, {}, "remove metadata.ownerReferences"),
        ({"finalizers": ["a.b/c"]}, {}, "remove metadata.finalizers"),
        ({"labels": {"torpor.dev/object-of": "uid"}}, {}, "remove torpor.dev/object-of"),
        ({"name": "../secrets/x"}, {}, "which is not a name of an object"),
        ({}, {"apiVersion": "v1", "kind": "Secret"}, "a Secret would be readable"),
        ({}, {"apiVersion": "torpor.dev/v1beta1", "kind": "Workflow"}, "is a kind of Torpor"),
    ],
)
async def test_a_forbidden_manifest_acts_on_nothing(
    objects: ObjectWorld, metadata: dict[str, object], manifest: dict[str, str], words: str
) -> None:
    await objects.defer(metadata=metadata, manifest=manifest)
    state, reason, message = objects.outcome()
    assert (state, reason) == ("Failed", "TriggerInvalid")
    assert words in message
    assert objects.accounts.requests == []


@pytest.mark.attack
async def test_an_object_of_a_megabyte_fails_its_task(objects: ObjectWorld) -> None:
    await objects.defer(until=DONE)
    await objects.world.pass_time(2)
    status = {"status": {"text": "x" * OBJECT_MAX}}
    objects.world.fake.edit(JOBS, NAMESPACE, objects.job_name(), status)
    await objects.world.pass_time(2)
    assert objects.outcome()[:2] == ("Failed", "AnswerTooLarge")


@pytest.mark.attack
async def test_an_object_that_changes_all_the_time_is_evaluated_slowly(objects: ObjectWorld) -> None:
    evaluated: list[str] = []
    evaluate = objects.world.backends.evaluator.evaluate

    async def counted(expression: str, *given: object, **more: object) -> object:
        evaluated.append(expression)
        return await evaluate(expression, *given, **more)  # type: ignore[arg-type]

    objects.world.backends.evaluator.evaluate = counted  # type: ignore[method-assign,assignment]
    await objects.defer(until=DONE)
    for number in range(500):
        objects.world.fake.edit(JOBS, NAMESPACE, objects.job_name(), {"status": {"number": number}})
        await objects.world.pass_time(0.01)
    assert 4 <= len(evaluated) <= 7


@pytest.mark.attack
def test_a_namespace_that_floods_its_watch_delays_its_own_reads_alone() -> None:
    budget = ByteBudget()
    delays = [budget.reserve("loud", 2**20, now=10.0) for _ in range(100)]
    assert delays[-1] == pytest.approx(100 * 2**20 / BYTES_PER_SECOND - 4)
    assert budget.reserve("quiet", 2**20, now=10.0) == 0.0
