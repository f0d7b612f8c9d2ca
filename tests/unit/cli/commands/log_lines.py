"""The lines of logs as a node sends them, and as `torpor logs` prints them."""

HOUR = "2026-11-22T10:"


def at(seconds: float, text: str) -> str:
    """A line of a log, so many seconds after the hour."""
    return f"{HOUR}{int(seconds) // 60:02d}:{seconds % 60:012.9f}Z {text}"


def second(number: int) -> str:
    """The time so many seconds after the hour."""
    return f"{HOUR}{number // 60:02d}:{number % 60:02d}Z"


def texts(printed: tuple[int, str, str]) -> list[str]:
    """The lines without their prefixes."""
    return [line.partition(" | ")[2] for line in printed[1].splitlines()]
