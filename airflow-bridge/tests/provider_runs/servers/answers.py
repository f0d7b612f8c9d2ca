"""What a server answers to the requests of one row."""

import threading
from collections.abc import Mapping
from typing import Any

OTHERS = "<others>"
"""As the last answer of an operation: from then on, the row has none for it."""


class AnswersOfRow:
    """The answers of each operation in their order. The last one stays."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self._waiting = {name: list(given) if isinstance(given, list) else [given] for name, given in answers.items()}
        self._lock = threading.Lock()
        self._unasked = {name: len(waiting) for name, waiting in self._waiting.items()}
        self.names = frozenset(answers)

    def next(self, name: str) -> Any:
        """Return the next answer of an operation, None if the row has none."""
        with self._lock:
            waiting = self._waiting.get(name)
            if waiting is None:
                return None
            self._unasked[name] -= 1
            answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            return None if answer == OTHERS else answer

    def unasked(self) -> list[str]:
        """Return the operations that were not called, or less often than they have answers."""
        with self._lock:
            return sorted(name for name, count in self._unasked.items() if count > 0)
