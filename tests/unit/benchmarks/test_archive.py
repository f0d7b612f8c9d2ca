"""The figures of the archive bench: per run, without and with an archive."""

import json
from collections import Counter

from benchmarks.archive import Figures, text
from benchmarks.writes import Kind

STATUS = Kind("PATCH", "workflows/status")


def test_the_table_has_figures_per_run() -> None:
    found = Figures(
        runs=10,
        without=Counter({STATUS: 30, Kind("POST", "pods"): 10}),
        archived=Counter({STATUS: 40, Kind("POST", "pods"): 10}),
        uploads=10,
        size=120_000,
    )
    *table, line = text(found).splitlines()
    assert any(row.split() == ["uploads", "1.00"] for row in table)
    figures = json.loads(line)
    assert figures["status writes of the Workflow, without an archive"] == 3.0
    assert figures["status writes of the Workflow, with an archive"] == 4.0
    assert figures["kB of an upload"] == 12.0
