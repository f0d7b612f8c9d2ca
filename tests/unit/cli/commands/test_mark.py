"""`torpor mark`: what it asks for, and how it tells the operator's answer."""

from typing import Any

import pytest
from torpor_wire import constants

from tests.support.fake_cluster import FakeCluster, Run


@pytest.fixture(autouse=True)
def run(cluster: FakeCluster) -> dict[str, Any]:
    workflow = cluster.workflow("ingest", "list", "load")
    workflow["spec"]["tasks"][1]["expand"] = [{"name": "n", "over": [1]}]
    for number in (0, 1):
        cluster.taskrun("ingest", "load", number, state="Failed")
    return workflow


def annotations_of(cluster: FakeCluster) -> dict[str, str]:
    values: dict[str, str] = cluster.objects["workflows"]["ingest"]["metadata"].get("annotations") or {}
    return values


def answer(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command stop waiting at once: no operator answers."""
    monkeypatch.setattr("torpor_cli.changes.clearing._LIMIT_S", -1.0)


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("ingest/list", "succeeded list because it is there"),
        ("ingest/load/1", "succeeded load/1 because it is there"),
        ("ingest/load[1]", "succeeded load/1 because it is there"),
        ("ingest/load", "succeeded load/0,load/1 because it is there"),
    ],
)
def test_a_mark_is_an_annotation_with_the_reason(
    cluster: FakeCluster, torpor: Run, monkeypatch: pytest.MonkeyPatch, reference: str, text: str
) -> None:
    answer(cluster, monkeypatch)
    code, _, err = torpor("mark", reference, "succeeded", "--because", " it is\nthere ", "--result", '{"n": 1}')
    assert code == 0, err
    assert "no operator has answered yet" in err
    assert annotations_of(cluster)[constants.MARK] == text
    assert annotations_of(cluster)[constants.MARK_RESULT] == '{"n": 1}'
    assert annotations_of(cluster).get(constants.CHANGED_BY, "mark ").startswith("mark ")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("ingest", "failed", "--because", "x"), 2, "name a task"),
        (("ingest/list", "done", "--because", "x"), 2, "succeeded"),
        (("ingest/list", "failed"), 2, "--because"),
        (("ingest/list", "failed", "--because", " "), 2, "--because is empty"),
        (("ingest/list", "failed", "--because", "x", "--result", "1"), 2, "--result is for succeeded"),
        (("ingest/list", "succeeded", "--because", "x", "--result", "{"), 2, "this is not JSON"),
        (("ingest/list", "succeeded", "--because", "x" * 5000), 2, "characters"),
        (("ingest/lost", "failed", "--because", "x"), 1, "did you mean list?"),
        (("ingest/load/7", "failed", "--because", "x"), 1, "there is no instance load/7"),
    ],
)
def test_what_cannot_be_marked_is_one_line(
    cluster: FakeCluster, torpor: Run, arguments: tuple[str, ...], code: int, words: str
) -> None:
    exit_code, out, err = torpor("mark", *arguments)
    assert (exit_code, out) == (code, "")
    assert words in err
    assert annotations_of(cluster) == {}


@pytest.mark.parametrize("field", ["stop", "cancel"])
def test_a_run_that_is_being_cancelled_is_not_marked(torpor: Run, run: dict[str, Any], field: str) -> None:
    run["spec"][field] = True
    code, _, err = torpor("mark", "ingest/list", "skipped", "--because", "x")
    assert (code, "torpor wait ingest" in err) == (1, True)
