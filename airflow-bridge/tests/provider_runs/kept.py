"""The keys by which `make airflow-real` finds the outcomes of earlier runs."""

from functools import cache
from pathlib import Path

from torpor_airflow.check.kept_rows import code_digest
from torpor_wire import canonical

from provider_runs.row import ProviderRow


def key_of(row: ProviderRow, version: str) -> str:
    """Return what decides on the outcome: the row, the version of its provider, and the code of bridge and Torpor.

    The connections are those of the servers, whose ports differ from run to run. Of `prepare`, only the name counts.
    """
    asked = (row.arguments, row.answers, row.state, row.result, row.message, row.defers, row.prepare.__qualname__)
    return canonical.digest(row.key, version, repr(asked), code_digest(), _tests())


@cache
def _tests() -> list[str]:
    """The code that plays the rows; the rows themselves are a part of the key."""
    folder = Path(__file__).parent
    files = sorted((*folder.glob("*.py"), *(folder / "servers").glob("*.py")))
    return [each.read_text() for each in files]
