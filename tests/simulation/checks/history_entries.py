"""I12: `status.history` has an entry for each transition, in order, and counts those that were folded."""

from collections import Counter
from collections.abc import Callable

from torpor_local.apiserver.history import Object
from torpor_wire import constants

_NUMBERS = ("attempt", "segment", "launch")


class HistoryEntries:
    """Compares the history of each TaskRun with its committed transitions."""

    def __init__(self, expect: Callable[[str, bool, str], None]) -> None:
        self._expect = expect
        self._transitions: Counter[str] = Counter()

    def moved(self, before: Object, after: Object, description: str) -> None:
        """Check a change of the status."""
        was, now = before["status"], after["status"]
        old, new = was.get("history", []), now.get("history", [])
        if all(was[key] == now[key] for key in ("state", *_NUMBERS)):
            self._expect("I12", old == new, f"{description}: the history changes without a transition")
            return
        uid = after["metadata"]["uid"]
        self._transitions[uid] += 1
        counted = sum(entry.get("count", 1) for entry in new)
        right = counted == self._transitions[uid]
        self._expect("I12", right, f"{description}: the history counts {counted} of {self._transitions[uid]}")
        if not new:
            return
        self._expect("I12", len(new) <= constants.HISTORY_MAX, f"{description}: the history has {len(new)} entries")
        self._expect("I12", _describes(new[-1], now), f"{description}: the last entry is {new[-1]}")
        kept = new[1:-1]
        self._expect("I12", kept == old[len(old) - len(kept) :], f"{description}: the history loses its order")


def _describes(entry: Object, status: Object) -> bool:
    numbers = {key: entry.get(key, 0 if key == "launch" else None) for key in _NUMBERS}
    numbers["launch"] = numbers["launch"] or status["launch"]  # not every writer knows it
    same = entry["state"] == status["state"] and entry.get("reason") == status.get("reason")
    return same and all(numbers[key] == status[key] for key in _NUMBERS)
