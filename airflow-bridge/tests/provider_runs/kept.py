"""Outcomes of earlier runs of `make airflow-real`: a row that was right, and has not changed, is not run again."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from torpor_airflow.check.kept_rows import code_digest
from torpor_wire import canonical

from provider_runs.row import ProviderRow, RowOutcome


@dataclass(slots=True, kw_only=True)
class KeptOutcomes:
    """Right outcomes by key, in a file of one JSON object a line. Without a path, nothing is kept."""

    path: Path | None = None
    _outcomes: dict[str, RowOutcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            for line in self.path.read_text().splitlines():
                stored: Mapping[str, Any] = json.loads(line)
                self._outcomes[stored["key"]] = RowOutcome(**stored["outcome"])

    def find(self, key: str) -> RowOutcome | None:
        """Return the outcome of a key, if any."""
        return self._outcomes.get(key)

    def add(self, key: str, outcome: RowOutcome) -> None:
        """Keep an outcome if it is right: another one may be right the next time."""
        if self.path is None or not outcome.is_right:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps({"key": key, "outcome": asdict(outcome)}) + "\n")


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
