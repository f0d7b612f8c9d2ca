"""Times and durations as Kubernetes writes them.

In the process, a time is seconds since the epoch (float) and a duration is seconds. Objects contain text.
"""

import re
from datetime import UTC, datetime

_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
DURATION_PATTERN = r"^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+(\.[0-9]+)?s)?([0-9]+ms)?$"
_END = 253_402_300_799.0
_PART = r"([0-9]+(?:\.[0-9]+)?)(ms|d|h|m|s)"


def rfc3339(moment: float) -> str:
    """Return `1700000000.5` as `2023-11-14T22:13:20.500Z`: UTC with milliseconds, up to the end of the year 9999."""
    return datetime.fromtimestamp(min(moment, _END), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def epoch(text: str) -> float:
    """Return the seconds since the epoch of an RFC 3339 text.

    Raises ValueError without an offset, and for other text.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no offset; write Z for UTC")
    return moment.timestamp()


def human(duration: float) -> str:
    """Return `125.4` as `2m5s`: the two largest units, as kubectl shows the duration of a Job."""
    rest = int(max(duration, 0.0))
    parts: list[str] = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        number, rest = divmod(rest, size)
        if parts or number:
            parts.append(f"{number}{unit}")
    return "".join(part for part in parts[:2] if not part.startswith("0")) or "0s"


def seconds(duration: str) -> float:
    """Return `1h30m` as 5400.0. Raises ValueError for anything but numbers with the units d, h, m, s or ms."""
    if not duration or not re.fullmatch(DURATION_PATTERN, duration):
        raise ValueError(f"{duration!r} is not a duration; write 30s, 5m, 1h30m or 7d")
    return sum(float(number) * _UNITS[unit] for number, unit in re.findall(_PART, duration))
