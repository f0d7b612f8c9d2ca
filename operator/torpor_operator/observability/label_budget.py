"""Bounds the label values of metrics, since each combination of values is a time series. Pure.

Names of templates and Schedules are chosen by users. A namespace has a share of the series, so that a namespace that
creates many templates loses detail of its own series only.
"""

from collections import defaultdict

OTHER = "other"
"""The value of a label beyond the budget."""


class LabelBudget:
    """The combinations of label values that have series of their own. The first ones keep them."""

    def __init__(self, *, namespaces: int = 500, per_namespace: int = 50, total: int = 2_000) -> None:
        """At most `total` combinations, `per_namespace` of them in one namespace, in at most `namespaces`."""
        self._namespaces = namespaces
        self._per_namespace = per_namespace
        self._total = total
        self._count = 0
        self._admitted: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)

    def admit(self, namespace: str, values: tuple[str, ...]) -> tuple[str, ...]:
        """The namespace and the values to use as labels: those given, or `other` in the place of each that is set."""
        admitted = self._admitted.get(namespace)
        if admitted is not None and values in admitted:
            return (namespace, *values)
        if not any(values):
            return (self._admit_namespace(namespace), *values)
        others = tuple(OTHER if value else "" for value in values)
        if self._admit_namespace(namespace) == OTHER:
            return (OTHER, *others)
        if self._count >= self._total or len(self._admitted[namespace]) >= self._per_namespace:
            return (namespace, *others)
        self._admitted[namespace].add(values)
        self._count += 1
        return (namespace, *values)

    def _admit_namespace(self, namespace: str) -> str:
        if namespace in self._admitted or len(self._admitted) < self._namespaces:
            self._admitted[namespace]  # creates the set: the namespace is known from now on
            return namespace
        return OTHER
