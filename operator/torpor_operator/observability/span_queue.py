"""Spans that wait for their export, with a bound and a share for each namespace. Pure.

A collector that is down must cost neither memory nor time. A namespace whose runs end by the thousand fills its own
share, and the batches take turns between namespaces.
"""

from collections import deque

from torpor_operator.observability.spans import RunSpan


class SpanQueue:
    """At most `total` spans, `per_namespace` of one namespace. What does not fit is dropped and counted."""

    def __init__(self, *, total: int = 20_000, per_namespace: int = 5_000) -> None:
        self._total = total
        self._per_namespace = per_namespace
        self._waiting: dict[str, deque[RunSpan]] = {}
        self._count = 0
        self.dropped = 0

    def __len__(self) -> int:
        return self._count

    def add(self, spans: list[RunSpan]) -> None:
        """Add the spans of one object, all or none: a part of a trace misleads."""
        if not spans:
            return
        namespace = spans[0].namespace
        waiting = self._waiting.get(namespace) or deque()
        if self._count + len(spans) > self._total or len(waiting) + len(spans) > self._per_namespace:
            self.dropped += len(spans)
            return
        waiting.extend(spans)
        self._waiting[namespace] = waiting
        self._count += len(spans)

    def take(self, limit: int) -> list[RunSpan]:
        """Remove and return the next spans, one of each namespace in turn."""
        taken: list[RunSpan] = []
        while self._waiting and len(taken) < limit:
            namespace = next(iter(self._waiting))
            waiting = self._waiting.pop(namespace)
            taken.append(waiting.popleft())
            if waiting:
                self._waiting[namespace] = waiting
        self._count -= len(taken)
        return taken
