"""Object tasks on one triggerer: what they create, how they wait, and how they end."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from torpor_kubernetes.client.resources import TASKRUNS
from torpor_triggerer.services.account_tokens import TOKEN_SECONDS
from torpor_wire import constants
from torpor_wire.objects import object_manifest

from tests.support.cluster_accounts import JOBS
from tests.support.fake_api.server import Fault
from tests.support.triggerer_fixture import NAMESPACE, TriggererFixture, triggerer_fixture

DONE = "object.status.succeeded > 0"
_JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"


class ObjectWorld:
    """One triggerer, the account `builder`, and TaskRuns with objects."""

    def __init__(self, world: TriggererFixture) -> None:
        self.world = world
        self.accounts = world.accounts
        self.accounts.add("builder")

    async def defer(self, name: str = "act", *, account: str = "builder", **fields: Any) -> None:
        """Defer a TaskRun that acts on a Job, and let the triggerer rest."""
        timeout, retries = fields.pop("timeout", None), fields.pop("retries", {})
        metadata = fields.pop("metadata", {})
        manifest = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"parallelism": 1}}
        manifest |= fields.pop("manifest", {})
        call = {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], "manifest": json.dumps(manifest)}
        trigger = {"class": constants.OBJECT_TASK}
        spec = {"trigger": trigger, "object": call | fields, "serviceAccount": account, "retries": retries}
        kwargs = {"action": fields.get("action", "create"), "api_version": "batch/v1", "kind": manifest["kind"]}
        self.world.taskrun(name, constants.OBJECT_TASK, kwargs, spec=spec, account=account, timeout=timeout)
        await self.world.settle()

    def job_name(self, name: str = "act") -> str:
        """The name of the Job of the present attempt."""
        stored = self.world.fake.get(TASKRUNS, NAMESPACE, name)
        assert stored is not None
        manifest = json.loads(stored["spec"]["object"]["manifest"])
        return object_manifest.object_name(manifest, name, stored["metadata"]["uid"], stored["status"]["attempt"])

    def job(self, name: str = "act") -> dict[str, Any] | None:
        """The Job of the present attempt."""
        return self.world.fake.get(JOBS, NAMESPACE, self.job_name(name))

    async def finish(self, name: str = "act", **status: int) -> None:
        """Change the status of the Job, and let the triggerer see it."""
        self.world.fake.edit(JOBS, NAMESPACE, self.job_name(name), {"status": status or {"succeeded": 1}})
        await self.world.pass_time(2)

    def outcome(self, name: str = "act") -> tuple[str, str | None, Any]:
        """State, reason, and the result or the message."""
        status = self.world.status(name)
        return status["state"], status.get("reason"), status.get("result", status.get("message", ""))


@pytest.fixture
async def objects() -> AsyncIterator[ObjectWorld]:
    async with triggerer_fixture() as world:
        await world.start()
        yield ObjectWorld(world)


async def test_a_job_is_created_and_its_status_ends_the_task(objects: ObjectWorld) -> None:
    await objects.defer(until=DONE, result="object.status.succeeded")
    job = objects.job()
    assert job is not None
    owner = job["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"], "blockOwnerDeletion" in owner) == ("TaskRun", "act", False)
    assert objects.outcome()[0] == "Deferred"
    await objects.finish(succeeded=3)
    assert objects.outcome() == ("Succeeded", None, "3")


async def test_without_until_the_task_ends_once_the_object_exists(objects: ObjectWorld) -> None:
    await objects.defer()
    state, _, result = objects.outcome()
    assert (state, json.loads(result)["name"]) == ("Succeeded", objects.job_name())


async def test_fail_when_ends_the_attempt_and_the_next_creates_another(objects: ObjectWorld) -> None:
    await objects.defer(until=DONE, failWhen="object.status.failed > 0", retries={"limit": 1, "delay": "10s"})
    first = objects.job_name()
    await objects.finish(failed=1)
    state, reason, message = objects.outcome()
    assert (state, reason) == ("UpForRetry", "FailWhen")
    assert '{"failed":1}' in message
    objects.world.edit("act", attempt=2)
    assert objects.job_name() != first


async def test_a_repeat_after_a_lost_answer_adopts_the_object(objects: ObjectWorld) -> None:
    objects.world.fake.inject(Fault(method="POST", path=_JOBS, commit=True))
    await objects.defer(until=DONE)
    await objects.world.pass_time(5)
    assert len(objects.world.fake.all(JOBS)) == 1
    await objects.finish()
    assert objects.outcome()[0] == "Succeeded"


async def test_a_crash_of_the_triggerer_adopts_the_object(objects: ObjectWorld) -> None:
    await objects.defer(until=DONE)
    await objects.world.crash()
    await objects.world.start("two")
    await objects.world.pass_time(60)
    assert len(objects.world.fake.all(JOBS)) == 1
    await objects.finish()
    assert objects.outcome()[0] == "Succeeded"


async def test_a_foreign_object_of_the_name_is_an_error(objects: ObjectWorld) -> None:
    objects.world.fake.put(JOBS, {"metadata": {"name": "mine", "namespace": NAMESPACE}, "spec": {}})
    await objects.defer(metadata={"name": "mine"}, until=DONE, deleteOnEnd="Always")
    state, reason, message = objects.outcome()
    assert (state, reason) == ("Failed", "ObjectTaken")
    assert "Job mine exists already, and this task did not create it" in message
    assert len(objects.world.fake.all(JOBS)) == 1


async def test_an_object_deleted_by_hand_fails_the_attempt(objects: ObjectWorld) -> None:
    await objects.defer(until=DONE)
    await objects.world.pass_time(2)
    objects.world.fake.remove(JOBS, NAMESPACE, objects.job_name())
    await objects.world.pass_time(2)
    assert objects.outcome()[:2] == ("Failed", "ObjectDeleted")


async def test_a_change_during_a_lost_watch_is_seen(objects: ObjectWorld) -> None:
    await objects.defer(until=DONE)
    objects.world.fake.hold_watches()
    objects.world.fake.edit(JOBS, NAMESPACE, objects.job_name(), {"status": {"succeeded": 1}})
    objects.world.fake.compact()
    objects.world.fake.end_watches(path="/jobs")
    objects.world.fake.release_watches()
    await objects.world.pass_time(60)
    assert objects.outcome()[0] == "Succeeded"


async def test_many_tasks_of_an_account_share_one_watch_and_token(objects: ObjectWorld) -> None:
    for number in range(20):
        await objects.defer(f"act-{number}", until=DONE)
    watches = [path for _, method, path in objects.accounts.requests if method == "WATCH"]
    assert (watches, objects.accounts.tokens) == ([_JOBS], 1)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("Always", []),
        ("OnSuccess", ["failed", "timed_out", "cancelled"]),
        ("OnFailure", ["succeeded"]),
        ("OnCancel", ["succeeded", "failed"]),
        ("Never", ["succeeded", "failed", "timed_out", "cancelled"]),
    ],
)
async def test_the_object_is_kept_or_deleted_at_each_end(
    objects: ObjectWorld, policy: str, expected: list[str]
) -> None:
    ends = ("succeeded", "failed", "timed_out", "cancelled")
    for end in ends:
        await objects.defer(end, until=DONE, failWhen="object.status.failed > 0", deleteOnEnd=policy, timeout=100)
    await objects.finish("succeeded", succeeded=1)
    await objects.finish("failed", failed=1)
    objects.world.edit("cancelled", cancel="2023-11-14T22:14:00Z")
    await objects.world.pass_time(200)
    states = [objects.outcome(end)[0] for end in ends]
    assert states == ["Succeeded", "Failed", "Failed", "Cancelled"]
    assert [end for end in ends if objects.job(end) is not None] == expected


async def test_apply_and_patch_change_an_object_and_wait_for_it(objects: ObjectWorld) -> None:
    await objects.defer("first", action="apply", metadata={"name": "app"}, until=DONE)
    await objects.defer("second", action="patch", metadata={"name": "app"}, manifest={"spec": {"parallelism": 4}})
    stored = objects.world.fake.get(JOBS, NAMESPACE, "app")
    assert stored is not None
    assert stored["spec"]["parallelism"] == 4
    assert objects.outcome("second")[0] == "Succeeded"
    objects.world.fake.edit(JOBS, NAMESPACE, "app", {"status": {"succeeded": 1}})
    await objects.world.pass_time(2)
    assert objects.outcome("first")[0] == "Succeeded"


async def test_get_waits_until_the_object_exists(objects: ObjectWorld) -> None:
    await objects.defer(action="get", metadata={"name": "later"}, result="object.spec.parallelism")
    await objects.world.pass_time(30)
    assert objects.outcome()[0] == "Deferred"
    objects.world.fake.put(JOBS, {"metadata": {"name": "later", "namespace": NAMESPACE}, "spec": {"parallelism": 7}})
    await objects.world.pass_time(2)
    assert objects.outcome() == ("Succeeded", None, "7")


async def test_delete_waits_until_the_object_is_gone(objects: ObjectWorld) -> None:
    metadata = {"name": "old", "namespace": NAMESPACE, "finalizers": ["example.org/keep"]}
    objects.world.fake.put(JOBS, {"metadata": metadata, "spec": {}})
    await objects.defer(action="delete", metadata={"name": "old"})
    await objects.world.pass_time(30)
    assert objects.outcome()[0] == "Deferred"
    objects.world.fake.edit(JOBS, NAMESPACE, "old", {"metadata": {"finalizers": []}})
    await objects.world.pass_time(2)
    assert objects.outcome()[0] == "Succeeded"


async def test_a_token_is_renewed_before_its_end(objects: ObjectWorld) -> None:
    await objects.defer(until=DONE)
    await objects.world.pass_time(TOKEN_SECONDS + 300)
    await objects.finish()
    assert objects.outcome()[0] == "Succeeded"
    assert objects.accounts.tokens == 2


async def test_until_over_a_missing_field_says_so(objects: ObjectWorld) -> None:
    await objects.defer(until="object.status.conditions[0].status == 'True'")
    await objects.world.pass_time(120)
    assert objects.outcome()[0] == "Deferred"
    assert "until has no value yet" in objects.world.status("act")["message"]


async def test_a_kind_that_does_not_exist_fails_the_task(objects: ObjectWorld) -> None:
    await objects.defer(manifest={"apiVersion": "spark.example.org/v1", "kind": "SparkApplication"})
    state, reason, message = objects.outcome()
    assert (state, reason) == ("Failed", "ObjectRefused")
    assert "the cluster serves no apiVersion 'spark.example.org/v1': is its CRD installed?" in message
