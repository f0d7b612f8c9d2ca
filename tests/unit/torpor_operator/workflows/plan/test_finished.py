"""A run that has ended: clean-up, TTL of its pods, TTL of the run."""

from torpor_crds.models.archive import ArchiveEndpoint
from torpor_operator.model.actions import ConfirmTaskRun, CreateTaskRun, DeleteWorkflow
from torpor_operator.model.pod import pod_name
from torpor_operator.settings import Settings
from torpor_wire import constants, runtime_variable, times
from torpor_wire.index_ranges import Indexes
from torpor_wire.state import State

from tests.support.builders import NOW, container, python
from tests.support.plan_fixture import PlanFixture


def test_a_finished_run_has_an_empty_plan_for_any_change_of_its_taskruns() -> None:
    world = PlanFixture(python("a"), python("b", after=["a"])).settle().succeed("a").succeed("b")
    status = world.status
    world.lose_taskrun("a")
    assert world.settle().status == status
    assert not world.has("a")


def test_a_finished_run_deletes_its_last_pods() -> None:
    world = PlanFixture(python("a")).settle().succeed("a")
    (pod,) = world.pods
    world.pods[pod]["status"] = {"phase": "Running"}
    assert world.plan().again_at == NOW + Settings().finished_pod_grace
    assert world.advance(Settings().finished_pod_grace).pods == {}


def test_a_finished_run_is_deleted_when_its_ttl_expires() -> None:
    world = PlanFixture(python("a"), ttlAfterFinished="1h").settle().succeed("a")
    assert world.plan().again_at == NOW + 3600
    world.advance(3599)
    assert not world.api.deleted
    assert world.advance(1).api.deleted


def test_a_finished_run_that_is_being_deleted_is_not_planned_repeatedly() -> None:
    world = PlanFixture(python("a"), ttlAfterFinished="1h").settle().succeed("a")
    world.workflow["metadata"]["finalizers"] = ["foregroundDeletion"]
    world.advance(3600)
    assert "deletionTimestamp" in world.workflow["metadata"]
    plan = world.plan()
    assert not any(isinstance(action, DeleteWorkflow) for action in plan.actions)
    assert plan.again_at is None


def test_a_new_leader_posts_the_events_of_a_run_that_has_just_ended() -> None:
    world = PlanFixture(python("a")).settle().fail("a").settle()
    assert world.status.completion_time is not None
    assert {(event.regarding is None, event.reason) for event in world.plan().events} == {
        (False, "Error"),
        (True, "Error"),
    }
    assert all(event in world.events for event in world.plan().events)
    world.advance(301)
    assert world.plan().events == ()


def test_without_a_ttl_a_run_is_kept() -> None:
    world = PlanFixture(python("a")).settle().succeed("a")
    assert world.plan().again_at == world.now + world.settings.pods_ttl  # for its pod
    assert world.advance(world.settings.pods_ttl).plan().again_at is None


def test_a_taskrun_that_the_cache_lacks_does_not_count_as_deleted() -> None:
    world = PlanFixture(python("a")).settle()
    name = world.run("a").metadata.name
    world.api.unseen.add(name)
    world.settle()
    assert world.api.confirmed == [ConfirmTaskRun("ns", name)]
    assert world.tasks() == {"a": "Running"}


def test_a_taskrun_deleted_before_the_status_has_it_is_not_created_again() -> None:
    world = PlanFixture(python("a", expand=[{"name": "n", "over": [1, 2]}])).settle()
    for task in world.workflow["status"]["tasks"]:
        task |= {"created": 0, "total": 0}
    world.api.created = {"a": {(): Indexes.below(2)}}
    world.lose_taskrun("a", 0)
    world.lose_taskrun("a", 1)
    assert not any(isinstance(action, CreateTaskRun) for action in world.plan().actions)
    assert world.settle().tasks() == {"a": "Failed"}


def test_a_deleted_taskrun_fails_its_task_and_is_never_created_again() -> None:
    world = PlanFixture(python("a"), python("b"), python("c", after=["a"], rule="all_done")).settle()
    world.lose_taskrun("a")
    world.settle()
    assert not world.has("a")
    assert world.tasks() == {"a": "Failed", "b": "Running", "c": "Running"}
    assert (world.task("a").reason, world.task("a").failed) == ("Deleted", 1)


def test_a_deleted_instance_is_counted_when_the_others_have_ended() -> None:
    mapped = python("load", expand=[{"name": "n", "over": [1, 2, 3]}])
    world = PlanFixture(mapped).settle()
    world.lose_taskrun("load", 1)
    world.settle().succeed("load", None, 0).succeed("load", None, 2)
    task = world.task("load")
    assert (task.state, task.reason, task.message) == ("Failed", "Deleted", "1 TaskRuns of the task were deleted")
    assert (task.total, task.created, task.succeeded, task.failed) == (3, 3, 2, 1)


def test_a_deleted_instance_is_not_created_again_while_others_follow() -> None:
    mapped = python("load", expand=[{"name": "n", "over": [1, 2, 3]}])
    world = PlanFixture(mapped, parallelism=2).settle()
    world.lose_taskrun("load", 0)
    world.settle()
    assert [world.has("load", index) for index in range(3)] == [False, True, True]


def test_the_last_instance_that_was_created_is_not_created_again_either() -> None:
    mapped = python("load", expand=[{"name": "n", "over": [1, 2, 3]}])
    world = PlanFixture(mapped, parallelism=2).settle()
    world.lose_taskrun("load", 1)
    created = [action for action in world.plan().actions if isinstance(action, CreateTaskRun)]
    assert [action.body["spec"]["mapIndex"] for action in created] == [2]


def test_an_unreadable_taskrun_fails_its_task_with_its_name() -> None:
    world = PlanFixture(python("a"), python("b")).settle()
    name = world.run("a").metadata.name
    world.api.unreadable.add(name)
    world.settle()
    assert world.tasks() == {"a": "Failed", "b": "Running"}
    assert world.task("a").reason == "StatusInvalid"
    assert name in (world.task("a").message or "")


def test_other_instances_go_on_beside_an_unreadable_taskrun() -> None:
    mapped = python("load", expand=[{"name": "n", "over": [1, 2]}])
    world = PlanFixture(mapped).settle()
    world.api.unreadable.add(world.run("load", 0).metadata.name)
    assert world.settle().tasks() == {"load": "Running"}
    world.claim("load", 1)
    world.kubelet("load", {"phase": "Failed"}, 1)
    assert world.state("load", 1) is State.FAILED
    assert world.task("load").reason == "StatusInvalid"


def test_deletions_are_confirmed_only_when_all_others_have_ended() -> None:
    world = PlanFixture(python("load", expand=[{"name": "n", "over": [1, 2, 3]}])).settle()
    name = world.run("load", 1).metadata.name
    world.lose_taskrun("load", 1)
    world.settle().succeed("load", index=0)
    assert world.api.confirmed == []
    assert world.tasks() == {"load": "Running"}
    world.succeed("load", index=2)
    assert set(world.api.confirmed) == {ConfirmTaskRun("ns", name)}
    assert (world.task("load").state, world.task("load").reason) == ("Failed", "Deleted")


DAY = Settings().pods_ttl


def test_the_pod_of_a_finished_run_goes_a_day_after_its_end() -> None:
    world = PlanFixture(python("a")).settle().succeed("a")
    assert len(world.pods) == 1
    assert world.advance(DAY - 1).pods
    assert world.plan().again_at == NOW + DAY
    assert world.advance(1).pods == {}
    assert world.state("a") is State.SUCCEEDED


def test_a_run_may_set_the_ttl_of_its_pods() -> None:
    world = PlanFixture(python("a"), podsTTL="1h").settle().succeed("a")
    assert world.advance(3599).pods
    assert world.advance(1).pods == {}
    assert PlanFixture(python("a"), podsTTL="0s").settle().succeed("a").pods == {}


def test_the_pod_ttl_starts_at_the_end_of_the_container() -> None:
    world = PlanFixture(container("a"), podsTTL="1h").settle()
    terminated = {"exitCode": 0, "reason": "Completed", "finishedAt": times.rfc3339(NOW + 500)}
    world.now += 500
    world.kubelet("a", {"phase": "Succeeded", "containerStatuses": [{"state": {"terminated": terminated}}]})
    assert world.advance(3599).pods
    assert world.advance(1).pods == {}


def test_pods_of_former_segments_are_deleted_during_the_task() -> None:
    world = PlanFixture(python("a"), podsTTL="1h").settle().defer("a")
    assert len(world.pods) == 1
    world.advance(3600)
    assert world.pods == {}
    world.fire("a")
    assert len(world.live_pods("a")) == 1
    assert world.advance(10).succeed("a").condition()[0] == "True"


def test_a_pod_whose_outcome_is_not_stored_stays() -> None:
    world = PlanFixture(container("a"), podsTTL="0s").settle()
    name = pod_name(world.run("a"))
    state = {"terminated": {"exitCode": 0, "message": "7"}}
    world.pods[name]["status"] = {"phase": "Succeeded", "containerStatuses": [{"state": state}]}
    world.settle()
    assert world.run("a").status.result == "7"
    assert world.pods == {}


def test_pods_that_ended_together_are_deleted_in_batches() -> None:
    many = python("a", expand=[{"name": "n", "over": list(range(7))}])
    world = PlanFixture(many, settings=Settings(batch=3), podsTTL="1h").settle()
    for index in range(7):
        world.succeed("a", None, index)
    world.now += 3600
    plan = world.plan()
    assert len(plan.actions) == 3
    assert plan.again_at == world.now + 1
    world.settle()
    assert world.pods == {}


SEAT = ArchiveEndpoint(url="https://archive:8443", certificate="PEM")


def finished(error: str = "", archive: ArchiveEndpoint | None = SEAT) -> PlanFixture:
    world = PlanFixture(python("a"), ttlAfterFinished="1h")
    world.api.archive, world.api.archive_error = archive, error
    world.settle().succeed("a")
    world.now += 3601
    return world


def test_a_run_is_deleted_once_the_archive_has_it() -> None:
    world = finished().settle()
    assert world.api.deleted
    assert [type(need).__name__ for need in world.api.confirmed][-1] == "ConfirmArchived"


def test_a_run_stays_while_the_archive_does_not_store_it() -> None:
    world = finished("the archive answers 503: DatabaseUnavailable").settle()
    assert not world.api.deleted
    condition = next(entry for entry in world.status.conditions if entry.type == "Archived")
    assert (condition.status, condition.reason) == ("False", "ArchiveUnavailable")
    assert condition.message == "the archive answers 503: DatabaseUnavailable"
    assert world.status.state == "Succeeded"
    assert world.plan().again_at == world.now + 30
    world.api.archive_error = ""
    assert world.advance(30).api.deleted


def test_without_an_archive_a_run_is_deleted_when_its_ttl_expires() -> None:
    world = finished(archive=None).settle()
    assert world.api.deleted
    assert not any(type(need).__name__ == "ConfirmArchived" for need in world.api.confirmed)
    assert world.api.archived == []


def pod(world: PlanFixture, task: str) -> dict[str, object]:
    return next(body["spec"] for name, body in world.pods.items() if world.run(task).metadata.name in name)


def test_a_python_task_gets_the_url_of_the_archive_and_a_token_for_it() -> None:
    world = PlanFixture(python("a"), container("b"))
    world.api.archive = SEAT
    world.settle()
    spec = pod(world, "a")
    env = {variable["name"]: variable.get("value") for variable in spec["containers"][0]["env"]}  # type: ignore[index]
    variable = runtime_variable.parse(env[constants.ENV_RUNTIME])
    assert (variable.archive_url, variable.archive_namespace) == ("https://archive:8443", "torpor-system")
    (sources,) = (volume["projected"]["sources"] for volume in spec["volumes"] if "projected" in volume)  # type: ignore[attr-defined]
    audiences = [source["serviceAccountToken"].get("audience") for source in sources if "serviceAccountToken" in source]
    assert audiences == [None, constants.ARCHIVE_AUDIENCE]
    assert "projected" not in str(pod(world, "b"))


def test_without_an_archive_a_pod_gets_one_token() -> None:
    spec = str(pod(PlanFixture(python("a")).settle(), "a"))
    assert spec.count("serviceAccountToken") == 1
    assert "archive" not in spec
