"""Rows of an earlier run of `make airflow-examples` or `make airflow-real`: one that was right is not run again.

The key of a row contains all that decides on its outcome.
"""

import importlib.util
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from torpor_wire import canonical

from torpor_airflow.conversion.dag_file import DagFile
from torpor_airflow.conversion.documents import DagConversion

Row = TypeVar("Row")
_PACKAGE = Path(__file__).parent.parent
_PLAYERS = (
    "torpor",
    "torpor_wire",
    "torpor_local",
    "torpor_operator",
    "torpor_triggerer",
    "torpor_expressions",
    "torpor_crds",
)
_CONVERTER = _PACKAGE / "conversion"
"""It acts by the documents that it writes, which are a part of the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleRow:
    """A DAG of the examples. `reason`: why it is not whole. `state`: how its run ends in Airflow and here."""

    module: str
    dag_id: str
    state: str = ""
    reason: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether the conversion loses nothing, and both runs were the same."""
        return not self.reason


@dataclass(slots=True, kw_only=True)
class KeptRows(Generic[Row]):
    """Right rows by key, in a file of one JSON object a line. Without a path, nothing is kept.

    `row_type` is their dataclass. A row that is not right is not kept: it may be right the next time.
    """

    row_type: Callable[..., Row]
    is_right: Callable[[Row], bool]
    path: Path | None = None
    _rows: dict[str, Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            for line in self.path.read_text().splitlines():
                stored: Mapping[str, Any] = json.loads(line)
                if "row" in stored:
                    self._rows[stored["key"]] = self.row_type(**stored["row"])

    def find(self, key: str) -> Row | None:
        """Return the row of a key, if any."""
        return self._rows.get(key)

    def add(self, key: str, row: Any) -> None:
        """Keep a row if it is right."""
        if self.path is None or not self.is_right(row):
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps({"key": key, "row": asdict(row)}) + "\n")


def key_of(file: DagFile, conversion: DagConversion, airflow: str) -> str:
    """Return what decides on the outcome of a check: the DAG file, its documents, the code, and Airflow's version."""
    documents = [dict(each) for each in conversion.documents]
    return canonical.digest(airflow, file.path.read_text(), documents, code_digest())


@cache
def code_digest() -> str:
    """Return a digest of the bridge without its converter, and of the packages of Torpor that play a run."""
    roots = [Path(str(importlib.util.find_spec(name).origin)).parent for name in _PLAYERS]  # type: ignore[union-attr]
    files = [
        each for root in (_PACKAGE, *roots) for each in sorted(root.rglob("*.py")) if _CONVERTER not in each.parents
    ]
    return canonical.digest([each.read_text() for each in files])
