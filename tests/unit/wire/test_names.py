"""Names of TaskRuns and pods: valid, short, distinct and stable."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_wire import constants, names

LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = re.compile(rf"{LABEL}(\.{LABEL})*")

workflows = st.lists(st.text("a0-", max_size=30).map("w{}9".format), min_size=1, max_size=7).map(".".join)
tasks = st.text("t0_", max_size=39).map("t{}".format)
indices = st.integers(-1, 1_000_000)

# Names are part of the API: a controller of a later version must find what an earlier one created.
GOLDEN = {
    ("ingest-x7k2p", "3e1e8c1c-7d3d-4a5e-9f52-0a8f2a6c0b11", "load", -1): "ingest-x7k2p-load-3d950",
    ("ingest-x7k2p", "3e1e8c1c-7d3d-4a5e-9f52-0a8f2a6c0b11", "load", 0): "ingest-x7k2p-load-0-b6b93",
    ("ingest-x7k2p", "3e1e8c1c-7d3d-4a5e-9f52-0a8f2a6c0b11", "load", 1023): "ingest-x7k2p-load-1023-f7076",
    ("ingest-x7k2p", "3e1e8c1c-7d3d-4a5e-9f52-0a8f2a6c0b11", "load_all_files", -1): "ingest-x7k2p-load-all-files-4e2dd",
    (
        "a" * 253,
        "3e1e8c1c-7d3d-4a5e-9f52-0a8f2a6c0b11",
        "load",
        7,
    ): "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-load-7-a7673",
    (
        "ingest",
        "3e1e8c1c-7d3d-4a5e-9f52-0a8f2a6c0b11",
        "t" * 40,
        7,
    ): "i-tttttttttttttttttttttttttttttttttttttttt-7-a2d06",
}


@pytest.mark.parametrize(("instance", "name"), GOLDEN.items())
def test_the_name_of_a_taskrun_never_changes(instance: tuple[str, str, str, int], name: str) -> None:
    assert names.taskrun(*instance) == name


@given(workflows, st.uuids().map(str), tasks, indices)
def test_the_name_of_a_taskrun_is_short_and_valid(workflow: str, uid: str, task: str, index: int) -> None:
    name = names.taskrun(workflow, uid, task, index)
    assert len(name) <= constants.NAME_MAX
    assert SUBDOMAIN.fullmatch(name)


@given(workflows, st.uuids().map(str), tasks, st.integers(0, 1023), st.integers(0, 1023))
def test_two_instances_of_a_task_never_share_a_name(workflow: str, uid: str, task: str, first: int, other: int) -> None:
    assert (names.taskrun(workflow, uid, task, first) == names.taskrun(workflow, uid, task, other)) == (first == other)


def test_the_hash_tells_apart_what_truncation_and_dashes_would_mix_up() -> None:
    uid, other = "uid-1", "uid-2"
    unique = {
        names.taskrun("run-a", uid, "b"),
        names.taskrun("run", uid, "a_b"),
        names.taskrun("run", other, "a_b"),
        names.taskrun("run", uid, "a", 1),
        names.taskrun("run", uid, "a"),
        names.taskrun("run-a", uid, "a", 1),
        names.taskrun("w" * 200 + "1", uid, "a"),
        names.taskrun("w" * 200 + "1", other, "a"),
        names.taskrun("run", uid, "t" * 39 + "1", 1023),
        names.taskrun("run", uid, "t" * 39 + "2", 1023),
    }
    assert len(unique) == 10


def test_a_long_workflow_name_gives_way_so_that_the_task_can_be_read() -> None:
    assert "-load-all-7-" in names.taskrun("a-workflow-with-a-very-long-name-indeed-it-is", "uid", "load_all", 7)


def test_a_pod_says_which_attempt_segment_and_launch_it_is() -> None:
    assert names.pod("run-load-0a1b2", 1, 0, 0) == "run-load-0a1b2-a1-s0"
    assert names.pod("run-load-0a1b2", 2, 3, 1) == "run-load-0a1b2-a2-s3-l1"


@given(workflows, tasks, st.integers(1, 101), st.integers(0, 9_999), st.integers(0, 9))
def test_the_name_of_a_pod_fits_a_host_name(workflow: str, task: str, attempt: int, segment: int, launch: int) -> None:
    name = names.pod(names.taskrun(workflow, "uid", task, 1023), attempt, segment, launch)
    assert len(name) <= 64
    assert SUBDOMAIN.fullmatch(name)


@given(st.one_of(workflows.map(lambda name: name[:253]), tasks))
def test_a_label_is_valid_and_a_short_name_is_its_own(name: str) -> None:
    label = names.label(name)
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9_.]{0,61}[a-z0-9])?", label)
    assert label == name or len(name) > 63 or name.endswith("_")


def test_two_names_that_differ_after_63_characters_have_two_labels() -> None:
    assert names.label("a" * 70 + "1") != names.label("a" * 70 + "2")
    assert names.label("load_") != names.label("load")
    assert names.label("a" * 63) == "a" * 63


def test_the_label_of_a_long_name_never_changes() -> None:
    assert names.label("ingest-" + "x" * 93) == "ingest-" + "x" * 50 + "-7c811"


@pytest.mark.parametrize("numbers", [(1, 0, 0), (2, 10, 3)])
def test_the_numbers_in_the_name_of_a_pod(numbers: tuple[int, int, int]) -> None:
    assert names.pod_numbers(names.pod("run-a7-s8-load", *numbers)) == numbers


@pytest.mark.parametrize(
    "name", ["anything", "run-a1", "run-a1-s", "run-a1-s0-x", "run-a1-s1234567890", "run-a\u0661-s0"]
)
def test_a_name_of_another_form_has_no_numbers(name: str) -> None:
    assert names.pod_numbers(name) is None


def test_the_key_of_a_run_that_a_user_starts_never_changes() -> None:
    assert names.manual_run_key("u1", "x") == "u1//x"
    assert names.run("nightly", names.manual_run_key("u1", "x")) == "nightly-3a13fd67b8"
