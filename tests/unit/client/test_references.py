import pytest
from torpor_client.errors import UsageError
from torpor_client.runs import references
from torpor_client.runs.references import RunReference


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("ingest", RunReference(run="ingest")),
        ("ingest/load/0.1", RunReference(run="ingest", task="load", path=(0, 1))),
        ("ingest/load[0.1]", RunReference(run="ingest", task="load", path=(0, 1))),
        ("workflow.torpor.dev/ingest", RunReference(run="ingest")),
        ("workflow.torpor.dev/ingest/load", RunReference(run="ingest", task="load")),
    ],
)
def test_a_reference_may_be_written_as_the_commands_print_it(text: str, reference: RunReference) -> None:
    assert references.parse(text) == reference


@pytest.mark.parametrize("text", ["", "/load", "a//3", "a/load/x", "a/load[1.]"])
def test_what_is_no_reference_is_usage(text: str) -> None:
    with pytest.raises(UsageError):
        references.parse(text)
