import json

from tests.support.fake_cluster import FakeCluster, Run


def test_pause_and_resume_set_suspend(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("a")
    cluster.schedule("b")
    assert torpor("schedule", "pause", "a", "b") == (
        0,
        "schedule.torpor.dev/a paused\nschedule.torpor.dev/b paused\n",
        "",
    )
    assert [cluster.objects["schedules"][name]["spec"]["suspend"] for name in ("a", "b")] == [True, True]
    assert torpor("schedule", "resume", "schedule.torpor.dev/a")[1] == "schedule.torpor.dev/a resumed\n"
    assert [cluster.objects["schedules"][name]["spec"]["suspend"] for name in ("a", "b")] == [False, True]


def test_the_patch_names_the_object_that_was_read(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("a")
    torpor("schedule", "pause", "a")
    suspend = {"op": "add", "path": "/spec/suspend", "value": True}
    assert cluster.patches == [("a", [{"op": "test", "path": "/metadata/uid", "value": "uid-a"}, suspend])]


def test_a_schedule_that_is_paused_is_not_written_again(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("a", spec={"suspend": True})
    code, out, _ = torpor("schedule", "pause", "a", "-o", "json")
    assert (code, json.loads(out)["spec"]["suspend"], cluster.patches) == (0, True, [])


def test_with_an_unknown_name_nothing_is_changed(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("good")
    code, out, err = torpor("schedule", "pause", "good", "no-such")
    assert (code, out, cluster.patches) == (1, "", [])
    assert err.startswith("torpor: there is no schedule 'no-such' in namespace team; the namespace has good")
    assert err.endswith("; nothing was changed\n")


def test_options_of_the_target_work_before_and_after_the_group(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("a")
    for words in (("-n", "x", "schedule", "list"), ("schedule", "-n", "x", "list"), ("schedule", "list", "-n", "x")):
        assert torpor(*words)[0] == 0
    assert cluster.requests == ["/apis/torpor.dev/v1alpha1/namespaces/x/schedules?limit=500"] * 3
