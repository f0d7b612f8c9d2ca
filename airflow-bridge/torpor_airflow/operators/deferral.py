"""Turns Airflow's deferrals into those of Torpor: the trigger with its class path, arguments and connections."""

from collections.abc import Mapping
from typing import Any

from torpor import SecretRef

from torpor_airflow import serde
from torpor_airflow.triggers import pool_trigger

_TRIGGER_PARTS = 2


class DeferredAirflowTrigger:
    """A trigger of Airflow by class path, as Torpor stores it.

    Args:
        class_path: The class that the pool has.
        kwargs: The arguments of the class.
        connections: Secrets by connection: the pool reads them, and shows them to this wait alone.
        ends_task: Whether the trigger ends the task, so that no method resumes.
    """

    def __init__(
        self, class_path: str, kwargs: Mapping[str, Any], connections: Mapping[str, SecretRef], *, ends_task: bool
    ) -> None:
        self._class_path = class_path
        self._kwargs = kwargs
        self._connections = connections
        self.end_from_trigger = ends_task

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return class path and arguments."""
        kwargs = {name: serde.encode(value) for name, value in self._kwargs.items()}
        if self._connections:
            kwargs[pool_trigger.ARGUMENT] = {"connections": dict(self._connections)}
        return self._class_path, kwargs


def parse_connections(given: Mapping[str, str]) -> dict[str, SecretRef]:
    """Return the Secrets of connections, each written as `secret/key`. Raises ValueError."""
    references: dict[str, SecretRef] = {}
    for name, written in given.items():
        parts = written.split("/") if isinstance(written, str) else []
        if len(parts) != _TRIGGER_PARTS or not all(parts):
            raise ValueError(f"connections.{name} must be SECRET/KEY, such as report-server/uri")
        references[name] = SecretRef(*parts)
    return references
