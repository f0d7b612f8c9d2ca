"""Turns Airflow's deferrals into those of Torpor: the trigger with its class path, arguments and connections."""

from collections.abc import Mapping
from typing import Any

from torpor import ConfigMapRef, SecretRef
from torpor_wire import trigger
from torpor_wire.secret_ref import KeyRef

from torpor_airflow import serde
from torpor_airflow.operators import hidden_texts
from torpor_airflow.triggers import pool_trigger

References = Mapping[str, KeyRef]


class DeferredAirflowTrigger:
    """A trigger of Airflow by class path, as Torpor stores it.

    Args:
        class_path: The class that the pool has.
        kwargs: The arguments of the class.
        connections: Secrets and ConfigMaps by connection: the pool reads them, and shows them to this wait alone.
        variables: The same by variable.
        ends_task: Whether the trigger ends the task, so that no method resumes.
    """

    def __init__(
        self,
        class_path: str,
        kwargs: Mapping[str, Any],
        *,
        connections: References,
        variables: References,
        ends_task: bool,
    ) -> None:
        self._class_path = class_path
        self._kwargs = kwargs
        self._given = {"connections": dict(connections), "variables": dict(variables)}
        self.end_from_trigger = ends_task

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return class path and arguments. One that contains a password of a connection is sealed for the pool."""
        kwargs = {_sealed_name(name, value): serde.encode(value) for name, value in self._kwargs.items()}
        given = {name: references for name, references in self._given.items() if references}
        if given:
            kwargs[pool_trigger.ARGUMENT] = given
        return self._class_path, kwargs


def _sealed_name(name: str, value: object) -> str:
    return f"{trigger.SEALED}{name}" if hidden_texts.contains_secret(value) else name


def parse_references(given: Mapping[str, str], argument: str) -> dict[str, KeyRef]:
    """Return the Secrets, written `SECRET/KEY`, and the ConfigMaps, written `configmap/NAME/KEY`. Raises ValueError."""
    references: dict[str, KeyRef] = {}
    for name, written in given.items():
        match written.split("/") if isinstance(written, str) else []:
            case [secret, key]:
                references[name] = SecretRef(secret, key)
            case ["configmap", config_map, key]:
                references[name] = ConfigMapRef(config_map, key)
            case _:
                raise ValueError(
                    f"{argument}.{name} must be SECRET/KEY, such as report-server/uri, or configmap/NAME/KEY"
                )
    return references
