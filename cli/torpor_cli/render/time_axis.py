"""Ticks of a time axis at round distances. Pure."""

import math

from torpor_wire import times

_STEPS = (
    *(0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(60.0, 120.0, 300.0, 600.0, 900.0, 1800.0),
    *(3600.0, 7200.0, 10_800.0, 21_600.0, 43_200.0, 86_400.0),
)
_DAY = 86_400.0
_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))
_PRECISE = 10.0
_ROUNDING = 1e-6
"""The difference of two times may be a little less than it was."""


def ticks(seconds: float, most: int) -> list[float]:
    """Return the positions of at most `most` ticks after 0, in seconds, with 0 first."""
    step = _step(seconds / max(most, 1))
    return [step * number for number in range(math.floor(seconds / step + 1e-9) + 1)]


def _step(least: float) -> float:
    """Return the shortest round distance that is not shorter than `least`."""
    fitting = next((step for step in _STEPS if step >= least), None)
    return fitting if fitting is not None else _DAY * math.ceil(least / _DAY)


def tick_label(seconds: float) -> str:
    """Return `90` as `1m30s` and `0.5` as `0.5s`."""
    if seconds != int(seconds):
        return f"{seconds:.1f}s"
    rest = int(seconds)
    parts: list[str] = []
    for unit, size in _UNITS:
        number, rest = divmod(rest, size)
        if number:
            parts.append(f"{number}{unit}")
    return "".join(parts) or "0s"


def duration(seconds: float) -> str:
    """Return a duration as `times.human` does, and with a tenth below ten seconds. Both cut, so that they agree."""
    if seconds < _PRECISE:
        return f"{math.floor(max(seconds, 0.0) * 10 + _ROUNDING) / 10:.1f}s"
    return times.human(seconds)
