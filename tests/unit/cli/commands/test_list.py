from tests.support.fake_cluster import FakeCluster, Run

_ENDED = "2026-11-22T10:01:00Z"


def test_live_and_archived_runs_are_one_list(cluster: FakeCluster, torpor: Run) -> None:
    gone = cluster.workflow("gone", "a", state="Succeeded", completionTime=_ENDED)
    cluster.delete("workflows", "gone")
    cluster.archive_run(gone)
    cluster.workflow("here", "a", progress="0/1")
    code, out, err = torpor("list")
    assert (code, err) == (0, "")
    rows = {line.split()[0]: line.split() for line in out.splitlines()}
    assert rows["NAME"] == ["NAME", "STATE", "PROGRESS", "AGE", "DURATION", "IN"]
    assert rows["here"][1:3] == ["Running", "0/1"]
    assert (rows["here"][-1], rows["gone"][-1]) == ("cluster", "archive")


def test_with_the_archive_away_the_live_part_is_shown_and_a_note(cluster: FakeCluster, torpor: Run) -> None:
    cluster.archive_away = True
    cluster.workflow("here", "a")
    code, out, err = torpor("list", "-o", "name")
    assert (code, out) == (0, "workflow.torpor.dev/here\n")
    assert err.startswith("only live runs are shown: the archive cannot be read: no endpoints available")


def test_the_archive_is_read_as_the_reader_of_the_namespace(cluster: FakeCluster, torpor: Run) -> None:
    gone = cluster.workflow("gone", "a", state="Succeeded", completionTime=_ENDED)
    cluster.delete("workflows", "gone")
    cluster.archive_run(gone)
    for readers in ({("team", "torpor-archive-reader")}, {("torpor-system", "torpor-reader")}):
        cluster.readers = readers
        assert torpor("list", "-o", "name", "--as", "bob") == (0, "workflow.torpor.dev/gone\n", "")


def test_who_may_not_create_a_token_of_a_reader_sees_live_runs(cluster: FakeCluster, torpor: Run) -> None:
    cluster.readers = set()
    code, _, err = torpor("list")
    assert code == 0
    assert "only live runs are shown: you may not create a token of ServiceAccount torpor-archive-reader" in err
    assert "in all namespaces: choose one with -n" in torpor("list", "-A")[2]
    assert not any("services" in request for request in cluster.requests)


def test_live_does_not_read_the_archive(cluster: FakeCluster, torpor: Run) -> None:
    torpor("list", "--live")
    assert not any("services" in request for request in cluster.requests)


def test_an_empty_list_says_where(torpor: Run) -> None:
    assert torpor("list") == (0, "", "namespace team has no runs\n")
    assert torpor("list", "--since", "1h") == (0, "", "namespace team has no runs that match the options\n")
    assert torpor("list", "-A", "-l", "a=b", "--live") == (0, "", "the cluster has no runs that match the options\n")


def test_if_the_live_list_fails_its_error_is_the_only_message(cluster: FakeCluster, torpor: Run) -> None:
    cluster.archive_away = True
    cluster.forbidden.add("workflows")
    code, _, err = torpor("list")
    assert (code, err.count("\n")) == (1, 1)
    assert "workflows is forbidden" in err


def test_a_selector_that_the_api_server_rejects_is_usage(cluster: FakeCluster, torpor: Run) -> None:
    cluster.rejected["workflows"] = "found ',', expected: identifier"
    message = "torpor: -l 'a=,,b' is not a label selector: found ',', expected: identifier\n"
    assert torpor("list", "-l", "a=,,b") == (2, "", message)


def test_a_wrong_state_or_duration_is_usage(torpor: Run) -> None:
    assert torpor("list", "--state", "runing") == (2, "", "torpor: there is no state 'runing'; did you mean Running?\n")
    code, _, err = torpor("list", "--since", "2 h")
    assert (code, err.count("\n")) == (2, 1)


def test_what_is_no_name_of_a_namespace_is_usage(cluster: FakeCluster, torpor: Run) -> None:
    message = "torpor: 'A_b' is not a valid name of a namespace; use lower-case letters, digits and dashes\n"
    assert torpor("list", "-n", "A_b") == (2, "", message)
    assert cluster.requests == []


def test_the_runs_of_a_schedule_are_selected_by_its_label(cluster: FakeCluster, torpor: Run) -> None:
    cluster.run_of("nightly", "nightly-a", "2026-11-21T02:00:00Z")
    cluster.workflow("other", "a")
    assert torpor("list", "--schedule", "nightly", "-o", "name")[1] == "workflow.torpor.dev/nightly-a\n"
    assert torpor("list", "--schedule", "weekly")[2] == "namespace team has no runs that match the options\n"
    assert torpor("list", "--schedule", "nightly", "-l", "a=b", "-o", "name")[1] == ""


def test_wide_names_the_schedule_of_a_run(cluster: FakeCluster, torpor: Run) -> None:
    cluster.run_of("nightly", "nightly-a", "2026-11-21T02:00:00Z")
    cluster.workflow("other", "a")
    head, *rows = (line.split() for line in torpor("list", "-o", "wide")[1].splitlines())
    column = head.index("SCHEDULE")
    assert {row[0]: row[column] for row in rows} == {"nightly-a": "nightly", "other": "-"}
