"""What the Workflow's status and its Events say."""

from torpor_api.models import workflow as workflows
from torpor_wire import times

from tests.support.builders import NOW, python, wait
from tests.support.plan_world import World


def test_counts_follow_the_instances() -> None:
    mapped = python("load", expand=[{"name": "n", "over": [0, 1, 2, 3]}], retries={"limit": 1})
    world = World(mapped).settle().succeed("load", None, 0).fail("load", "", 1).defer("load", 2)
    task = world.task("load")
    assert (task.total, task.created) == (4, 4)
    assert (task.active, task.deferred, task.succeeded, task.failed) == (2, 1, 1, 0)


def test_progress_counts_what_is_done_of_what_is_known() -> None:
    mapped = python("load", expand=[{"name": "n", "over": [0, 1]}])
    skipped = python("skipped", when="false")
    world = World(mapped, python("report", after=["load"]), skipped).settle()
    assert world.status.progress == "0/3"
    assert world.succeed("load", None, 0).status.progress == "1/3"


def test_conditions_of_a_run_that_goes_on() -> None:
    world = World(python("a")).settle()
    assert world.condition("Succeeded")[:2] == ("Unknown", "Running")
    assert world.condition("Reconciling")[:2] == ("True", "Running")
    assert world.condition("Stalled")[:2] == ("False", "Running")


def test_conditions_of_a_run_that_went_well() -> None:
    world = World(python("a")).settle().succeed("a")
    assert world.condition("Succeeded")[:2] == ("True", "Succeeded")
    assert world.condition("Reconciling")[0] == "False"
    assert world.condition("Stalled")[0] == "False"
    assert world.status.state == "Succeeded"


def test_conditions_of_a_run_that_failed_say_why() -> None:
    world = World(python("a")).settle().fail("a", "no disk")
    for name in ("Succeeded", "Stalled"):
        assert world.condition(name)[1] == "Error"
        assert "no disk" in world.condition(name)[2]
    assert world.condition("Reconciling")[0] == "False"


def test_a_run_that_has_ended_names_all_the_tasks_that_failed() -> None:
    world = World(*(python(name) for name in "abcdefgh"), python("last", after=["a"])).settle()
    world.fail("a", "no disk").fail("b", "no tape").succeed("h")
    for name in "cdefg":
        world.fail(name, "no net")
    message = world.condition()[2]
    assert message == f"task a: TaskRun {world.name('a', -1)}: no disk; also failed: b, c, d, e, f and 1 more"


def test_a_transition_is_dated_when_the_status_changed_and_not_when_it_was_written() -> None:
    world = World(python("a"), python("b")).settle()
    world.now += 100
    world.succeed("a")
    world.now += 100
    world.succeed("b")
    dates = {entry.type: entry.last_transition_time for entry in world.status.conditions}
    assert dates["Stalled"] == times.rfc3339(NOW)
    assert dates["Succeeded"] == dates["Reconciling"] == times.rfc3339(NOW + 200)
    assert (world.status.start_time, world.status.completion_time) == (times.rfc3339(NOW), times.rfc3339(NOW + 200))


def test_the_status_speaks_of_the_generation_it_has_seen() -> None:
    assert World(python("a")).settle().change(parallelism=2).status.observed_generation == 2


def test_a_stored_status_comes_back_equal_so_that_it_is_not_written_again() -> None:
    world = World(python("a"), wait("b"), python("c", when="false"), python("d", after=["a"])).settle()
    made = world.fail("a").plan().status
    body = world.workflow | {"status": made.to_json() if made else None}
    assert workflows.parse(body).status == made


def test_a_status_lists_no_instances() -> None:
    many = python("load", expand=[{"name": "n", "over": list(range(500))}])
    world = World(many, parallelism=500).settle()
    assert len(str(world.workflow["status"])) < 2_000


def test_every_failed_attempt_is_one_event_on_its_taskrun() -> None:
    world = World(python("a", retries={"limit": 1, "delay": "10s"})).settle().fail("a", "once")
    (event,) = world.events
    assert event.regarding is not None
    assert (event.reason, event.warning) == ("Error", True)
    assert event.message == f"once; will be tried again at {times.rfc3339(NOW + 10)}"
    world.advance(10).fail("a", "twice")
    assert [event.message for event in world.events if event.regarding][1:] == ["twice"]


def test_a_retry_that_has_no_moment_comes_at_once_and_its_event_says_so() -> None:
    world = World(python("a")).settle()
    (body,) = world.taskruns.values()
    body["status"]["state"] = "UpForRetry"
    assert [event.message for event in world.settle().events] == ["UpForRetry; will be tried again at once"]


def test_the_end_of_a_run_is_one_event_on_it() -> None:
    world = World(python("a")).settle().succeed("a")
    assert [(event.regarding, event.reason, event.warning) for event in world.events] == [(None, "Succeeded", False)]


def test_a_skipped_run_succeeds() -> None:
    world = World(python("a", when="false")).settle()
    assert (world.condition()[0], world.status.progress) == ("True", "0/0")


def test_what_keeps_a_taskrun_from_moving_is_said_on_the_workflow() -> None:
    world = World(python("a")).settle()
    waiting = {"state": {"waiting": {"reason": "ErrImagePull", "message": "no such host"}}}
    world.kubelet("a", {"phase": "Pending", "containerStatuses": [waiting]}).advance(1)
    status, _, message = world.condition()
    assert status == "Unknown"
    assert "no such host" in message


def test_a_run_that_goes_on_says_at_once_which_tasks_have_failed_and_why() -> None:
    world = World(python("a"), python("b"), python("c"), python("d")).settle()
    world.fail("a", "no disk").fail("c", "no tape")
    status, reason, message = world.condition()
    assert (world.status.state, status, reason) == ("Running", "Unknown", "Error")
    assert message.startswith(f"task a failed: Error: TaskRun {world.name('a', -1)}: no disk; task c failed: ")
    assert "no tape" in message
    assert world.condition("Reconciling")[:2] == ("True", "Running")
    told = [event.message for event in world.events if event.regarding is None]
    assert [message.partition(":")[0] for message in told] == ["task a failed", "task c failed"]


def test_the_first_failed_instance_of_a_mapped_task_is_told_while_the_others_run() -> None:
    mapped = python("load", expand=[{"name": "n", "over": list(range(4))}])
    world = World(mapped).settle().fail("load", "no disk", 2).fail("load", "no tape", 1)
    assert world.tasks() == {"load": "Running"}
    assert "task load failed: Error" in world.condition()[2]
    assert len([event for event in world.events if event.regarding is None]) == 1


def test_many_failed_tasks_are_counted() -> None:
    world = World(*(python(f"t{number:02}") for number in range(30))).settle()
    for number in range(29):
        world.fail(f"t{number:02}", "x" * 500)
    message = world.condition()[2]
    assert message.endswith("; and 26 more")
    assert len(message) < 1024
    assert len([event for event in world.events if event.regarding is None]) == 20


def test_an_attempt_that_will_be_tried_again_is_told_only_where_somebody_must_help() -> None:
    world = World(python("a", retries={"limit": 1}), python("b", image="lost:1", retries={"limit": 1})).settle()
    world.fail("a", "no disk")
    assert world.condition()[1:] == ("Running", "")
    waiting = {"state": {"waiting": {"reason": "ErrImagePull", "message": "no such host"}}}
    world.kubelet("b", {"phase": "Pending", "containerStatuses": [waiting]}).advance(60)
    assert world.run("b").status.state == "UpForRetry"
    assert "task b waits: ImagePullFailed" in world.condition()[2]
    told = [(event.reason, event.regarding) for event in world.events if event.regarding is None]
    assert told == [("ImagePullFailed", None)]


def test_a_run_that_recovers_says_nothing_of_it() -> None:
    waiting = {"state": {"waiting": {"reason": "ErrImagePull", "message": "no such host"}}}
    world = World(python("a")).settle().kubelet("a", {"phase": "Pending", "containerStatuses": [waiting]})
    world.settle()
    assert world.condition()[1] == "ImagePullFailed"
    world.claim("a")
    assert world.settle().condition()[1:] == ("Running", "")


def test_a_clear_keeps_the_start_of_the_run_and_gives_it_its_timeout_anew() -> None:
    world = World(python("a"), timeout="1h").settle()
    world.now += 600
    world.fail("a")
    world.now += 7200
    world.workflow["metadata"]["annotations"] = {"torpor.dev/clear": "a"}
    cleared = world.now
    world.settle()
    assert world.status.state == "Running"
    assert world.status.start_time == times.rfc3339(NOW)
    assert world.status.reopened_time == times.rfc3339(cleared)
    world.claim("a")
    assert world.advance(3599).status.state == "Running"
    assert world.advance(1).condition()[1] == "Timeout"


def test_an_account_without_its_role_is_told_on_the_run_though_the_attempt_is_tried_again() -> None:
    world = World(python("a", retries={"limit": 1})).settle()
    state = {"terminated": {"exitCode": 77, "reason": "Error", "message": "torpor: could not be claimed"}}
    world.kubelet("a", {"phase": "Failed", "containerStatuses": [{"state": state}]})
    assert (world.run("a").status.state, world.condition()[1]) == ("UpForRetry", "Forbidden")
    assert "create rolebinding" in world.condition()[2]
