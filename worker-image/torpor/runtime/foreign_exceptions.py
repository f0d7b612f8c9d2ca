"""Exceptions of other libraries, recognized by the name of a class anywhere in their MRO.

Torpor never imports Airflow, so an image that carries Airflow's operators keeps their meaning, and one without it pays
nothing.
"""

FINAL = frozenset({"AirflowFailException"})
"""The task has failed for good: it is not retried."""


def is_named(error: BaseException, names: frozenset[str]) -> bool:
    """Whether the class of an exception, or one of its base classes, has one of these names."""
    return any(parent.__name__ in names for parent in type(error).__mro__)
