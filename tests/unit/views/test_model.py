"""A run is parsed from the JSON of any version, and its content never raises."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from torpor_views import compare, timeline, tree, why
from torpor_views.facts import Facts
from torpor_views.model import RunView
from torpor_views.waiting import wait_groups
from torpor_wire.state import RunState, State, TaskState

from tests.unit.views.objects import NOW, at, deferred, python, run, taskrun, workflow

_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.sampled_from(["Running", "Deferred", "Failed", "2026-11-22T10:00:00Z", "0001-01-01T00:00:00Z", "1h", "load"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def _object(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={name: strategy | _JSON for name, strategy in fields.items()})


_MOMENT = st.sampled_from([at(-100), at(0), at(100), "9999-12-31T23:59:59Z", "-", ""])
_NAME = st.sampled_from(["load", "report", ""])
_WORD = st.sampled_from(["Scheduled", "Running", "Deferred", "UpForRetry", "Failed", "Pending", "Suspended", "Nova"])
_REASON = st.sampled_from(["PoolFull", "Waiting", "NodeLost", "Unschedulable", "Deleted", "WorkflowInvalid", "X"])
_ENTRY = _object(state=_WORD, at=_MOMENT, attempt=st.integers(), segment=st.integers(), count=st.integers())
_TASKRUN = _object(
    metadata=_object(name=_NAME, namespace=_NAME, uid=_NAME, creationTimestamp=_MOMENT, deletionTimestamp=_MOMENT),
    spec=_object(workflow=_object(name=_NAME), task=_NAME, mapIndex=st.integers(), groupIndexes=_JSON, pool=_NAME),
    status=_object(
        state=_WORD,
        reason=_REASON,
        message=_NAME,
        attempt=st.integers(),
        startedAt=_MOMENT,
        deferredAt=_MOMENT,
        firedAt=_MOMENT,
        completionTime=_MOMENT,
        deadline=_MOMENT,
        retryAt=_MOMENT,
        trigger=_object(**{"class": _NAME, "kwargs": st.text(max_size=8), "key": _NAME}),
        history=st.lists(_ENTRY, max_size=3),
    ),
)
_TASK = _object(name=_NAME, after=st.lists(_NAME), group=_NAME, expand=_JSON, rule=_JSON, hook=_JSON, args=_JSON)
_WORKFLOW = _object(
    metadata=_object(name=_NAME, namespace=_NAME, uid=_NAME, creationTimestamp=_MOMENT),
    spec=_object(tasks=st.lists(_TASK, max_size=3), groups=st.lists(_object(name=_NAME), max_size=2), timeout=_JSON),
    status=_object(
        state=_WORD,
        tasks=st.lists(_object(name=_NAME, state=_WORD, reason=_REASON, total=st.integers()), max_size=2),
        conditions=st.lists(_object(type=st.sampled_from(["Succeeded", "Archived"]), reason=_REASON), max_size=2),
        history=st.lists(_ENTRY, max_size=2),
    ),
)


@settings(max_examples=300, deadline=None)
@given(
    body=_WORKFLOW,
    taskruns=st.lists(_TASKRUN, max_size=3),
    others=st.lists(_JSON | _object(metadata=_JSON), max_size=2),
)
def test_no_content_of_an_object_makes_a_view_raise(body: Any, taskruns: Any, others: Any) -> None:
    parsed = RunView.parse(body, taskruns, now=NOW)
    read = Facts.parse(pods=others, events=others, pools={"data": others}, taskruns=taskruns)
    tree.build(parsed, unfold=tree.ALL)
    timeline.build(parsed, pods=others)
    compare.build(parsed, parsed)
    wait_groups.build(taskruns, now=NOW)
    for cause in why.of_run(parsed, read):
        assert cause.sentence.endswith(".")
        assert "\n" not in cause.sentence + cause.command


def test_a_run_without_status_is_pending() -> None:
    parsed = RunView.parse({"metadata": {"name": "new"}, "spec": {"tasks": [{"name": "load"}]}}, now=NOW)
    assert parsed.state is RunState.PENDING
    assert [task.state for task in parsed.tasks] == [TaskState.PENDING]


def test_an_unknown_state_is_kept_as_written() -> None:
    parsed = run(workflow(python("load", "Dreaming"), state="Sleeping"), taskrun("load", "Floating"))
    (instance,) = parsed.instances_of("load")
    assert (parsed.state, parsed.word) == (None, "Sleeping")
    assert (parsed.tasks[0].state, parsed.tasks[0].word) == (None, "Dreaming")
    assert (instance.state, instance.word) == (None, "Floating")


def test_taskruns_of_an_earlier_workflow_of_the_same_name_are_left_out() -> None:
    former = taskrun("load", "Failed", spec={"workflow": {"name": "etl", "uid": "w0"}})
    assert run(workflow(python("load")), former).instances_of("load") == ()


def test_of_two_taskruns_at_one_path_the_one_after_more_clears_counts() -> None:
    former, current = taskrun("load", "Failed"), taskrun("load", "Running", spec={"clears": 1})
    for order in ((former, current), (current, former)):
        assert [instance.state for instance in run(workflow(python("load")), *order).instances_of("load")] == [
            State.RUNNING
        ]


def test_instances_are_in_the_order_of_their_paths() -> None:
    some = [taskrun("load", "Running", index, groups=[group]) for group, index in ((1, 0), (0, 10), (0, 2))]
    assert [instance.ref for instance in run(workflow(python("load")), *some).instances_of("load")] == [
        "load/0.2",
        "load/0.10",
        "load/1.0",
    ]


def test_a_history_entry_without_a_time_is_left_out() -> None:
    entries = [{"state": "Running"}, {"state": "Running", "at": at(-5), "pod": "p"}, "broken"]
    (instance,) = run(workflow(python("load")), taskrun("load", "Running", history=entries)).instances_of("load")
    assert [(entry.state, entry.at, entry.pod, entry.count) for entry in instance.history] == [
        (State.RUNNING, NOW - 5, "p", 1)
    ]


def test_a_deferred_instance_has_its_trigger() -> None:
    (instance,) = run(
        workflow(python("load")), deferred("load", trigger={"approvers": {"users": ["ann"]}})
    ).instances_of("load")
    assert instance.trigger is not None
    assert (instance.trigger.class_name, instance.trigger.users) == ("http", ("ann",))
