"""How large the scenarios of the schedules bench are."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Counts, and seconds of idleness. The goals are for 1,000 Schedules, 10 minutes, 2,000 events and 10 kills."""

    schedules: int = 100
    minutes: int = 2
    idle: float = 60.0
    events: int = 300
    kills: int = 3
    runs: int = 50
    flood: int = 10
