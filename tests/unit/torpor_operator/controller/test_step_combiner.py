"""Results of steps that the archive combines: what the operator sends, and what each response means."""

import json
from dataclasses import replace

import pytest
from torpor_crds.models.archive import ArchiveEndpoint
from torpor_kubernetes.client.archive import ArchiveResponse
from torpor_operator.controller.archive_queries import NO_ARCHIVE, StepCombiner
from torpor_operator.model.step_parts import CombineSteps, StepPart, StepsCombined, StepsNotCombined

DIGEST = "a" * 64
PARTS = (StepPart(name="one", digest=DIGEST), StepPart(name="two", text="[1]"))
QUERY = CombineSteps(namespace="team", taskrun="run-a", uid="u", parts=PARTS)
STORED = {"size": 9, "digest": DIGEST, "type": "object", "length": 2, "keys": '["one","two"]', "name": None}
AWAY = OSError("the archive cannot be reached")


async def combined(response: ArchiveResponse | OSError) -> StepsCombined | StepsNotCombined:
    async def post(endpoint: ArchiveEndpoint, path: str, body: object) -> ArchiveResponse:
        assert (endpoint.url, path) == ("https://archive", "/v1/namespaces/team/taskruns/run-a/steps")
        assert body == {"uid": "u", "steps": [{"name": "one", "digest": DIGEST}, {"name": "two", "text": "[1]"}]}
        if isinstance(response, OSError):
            raise response
        return response

    return await StepCombiner(lambda: ArchiveEndpoint("https://archive", "pem"), post).combine(QUERY)


async def test_the_description_of_the_archive_is_the_answer() -> None:
    answer = await combined(ArchiveResponse(201, json.dumps(STORED).encode()))
    assert isinstance(answer, StepsCombined)
    assert answer.stored.to_json() == {name: value for name, value in STORED.items() if value is not None}


@pytest.mark.parametrize(
    ("response", "is_final", "message"),
    [
        (ArchiveResponse(413, b'{"message": "item 0 has more than 8388608 bytes"}'), True, "item 0 has more"),
        (ArchiveResponse(404, b'{"message": "no result of step one"}'), True, "no result of step one"),
        (ArchiveResponse(503, b"busy"), False, "the archive responded 503"),
        (ArchiveResponse(507, b'{"message": "over the quota"}'), False, "over the quota"),
        (ArchiveResponse(201, b"[]"), False, "without a description"),
        (AWAY, False, "cannot be reached"),
    ],
)
async def test_a_refusal_is_final_and_an_absence_is_not(
    response: ArchiveResponse | OSError, is_final: bool, message: str
) -> None:
    answer = await combined(response)
    assert isinstance(answer, StepsNotCombined)
    assert (answer.is_final, message in answer.message) == (is_final, True)


@pytest.mark.parametrize(("parts", "is_final"), [(PARTS, False), (PARTS[1:], True)])
async def test_without_an_archive_only_small_parts_are_refused_for_good(
    parts: tuple[StepPart, ...], is_final: bool
) -> None:
    message = "they are too large for a TaskRun, and there is no archive"
    refusal = StepsNotCombined(message=message, is_final=is_final)
    assert await NO_ARCHIVE.combine(replace(QUERY, parts=parts)) == refusal
