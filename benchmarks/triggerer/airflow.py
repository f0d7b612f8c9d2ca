"""What Airflow's triggerer was measured to, for the column beside ours.

Airflow 3.3.2 on PostgreSQL 15 with its defaults but for a raised capacity, on two shared cores, one run a cell. The
bench does not take these again: whoever has measured an Airflow of their own gives a JSON file of the same names.
"""

import json
from collections.abc import Mapping
from pathlib import Path

QUOTED: Mapping[str, str] = {
    "start_triggers_5000": "42.8 s",
    "start_triggers_20000": "547 s (19,500)",
    "rss_slope_trigger": "25.4 KiB (PSS, 1,000 to 19,500)",
    "pss_5000": "457 MiB",
    "pss_20000": "809 MiB (19,500)",
    "idle_cpu_5000": "2.4 s, and 0.7 s of PostgreSQL",
    "burst_seconds_5000": "53.7 s",
    "burst_rate_5000": "93 /s",
    "steady_p50": "1,540 ms, nothing idle beside",
    "steady_p99": "7,500 ms, nothing idle beside",
    "failover_5000": "46 s",
}


def column(measured: Path | None) -> tuple[str, Mapping[str, str]]:
    """The column's head, and what it says by the name of a figure."""
    if measured is None:
        return "Airflow 3.3.2 (quoted, not measured here)", QUOTED
    return "Airflow (measured here)", json.loads(measured.read_text())
