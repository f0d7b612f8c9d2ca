"""A run that is no longer in the cluster is found in the archive by its name."""

import json
from typing import Any

import pytest
from torpor_crds.models.archive import ArchiveEndpoint
from torpor_kubernetes.client.archive import ArchiveResponse
from torpor_operator.backfills.archived_runs import ArchivedRuns
from torpor_operator.backfills.plan.snapshot import KnownRun, RunOutcome
from torpor_operator.controller.archive import NotArchivedError

ENDPOINT = ArchiveEndpoint(url="https://archive", certificate="PEM")
ITEM = {
    "namespace": "ns",
    "uid": "u",
    "name": "ingest-0",
    "state": "Succeeded",
    "created": "2026-05-01T02:00:00Z",
    "labels": {"torpor.dev/backfill": "may"},
}


class Answers:
    """An archive that gives one answer, or none."""

    def __init__(self, status: int, body: object = None, *, text: bytes | None = None) -> None:
        self.answer = ArchiveResponse(status, json.dumps(body).encode() if text is None else text)
        self.paths: list[str] = []

    async def get(self, endpoint: ArchiveEndpoint, path: str) -> ArchiveResponse:
        assert endpoint == ENDPOINT
        self.paths.append(path)
        if not self.answer.status:
            raise OSError("the archive cannot be reached: refused")
        return self.answer


def archived(answers: Answers) -> ArchivedRuns:
    return ArchivedRuns(lambda: ENDPOINT, answers)


async def test_the_run_is_read_by_its_name() -> None:
    answers = Answers(200, {"items": [ITEM]})

    run = await archived(answers).find("ns", "ingest-0")

    assert run == KnownRun(
        name="ingest-0", outcome=RunOutcome.SUCCEEDED, backfill="may", created="2026-05-01T02:00:00Z"
    )
    assert answers.paths == ["/v1/namespaces/ns/runs?name=ingest-0&limit=1"]


@pytest.mark.parametrize("state", ["Failed", "Cancelled"])
async def test_a_run_that_did_not_succeed_has_failed(state: str) -> None:
    run = await archived(Answers(200, {"items": [ITEM | {"state": state, "labels": {}}]})).find("ns", "ingest-0")

    assert run is not None
    assert (run.outcome, run.backfill) == (RunOutcome.FAILED, None)


async def test_there_is_no_run_of_an_unknown_name() -> None:
    assert await archived(Answers(200, {"items": []})).find("ns", "ingest-0") is None


async def test_without_an_archive_there_is_no_run() -> None:
    assert await ArchivedRuns(lambda: None, Answers(200)).find("ns", "ingest-0") is None


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (Answers(0), "the archive cannot be reached: refused"),
        (Answers(503, text=b"database is down"), "the archive responded 503: database is down"),
        (Answers(200, text=b"<html>"), "the list of runs of the archive cannot be read"),
        (Answers(200, {"items": [{"name": "ingest-0"}]}), "the list of runs of the archive cannot be read"),
        (Answers(200, []), "the list of runs of the archive cannot be read"),
    ],
)
async def test_an_archive_that_cannot_say_is_an_error(answers: Any, message: str) -> None:
    with pytest.raises(NotArchivedError, match=message):
        await archived(answers).find("ns", "ingest-0")
