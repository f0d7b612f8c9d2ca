"""Builds rows of the Amazon provider."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from provider_runs.row import ProviderRow
from provider_runs.servers.started import RowServers

ROLE = "arn:aws:iam::123456789012:role/torpor"
COMMAND = "11111111-2222-3333-4444-555555555555"


class AwsRows:
    """Builds the rows of a family. `answers` are outputs by `service.Operation`; everything else is moto's."""

    def __init__(self, servers: RowServers, family: str) -> None:
        self._servers = servers
        self._family = family

    def sensor(self, path: str, arguments: Mapping[str, Any], answers: Mapping[str, Any], **given: Any) -> ProviderRow:
        """Return the row of a sensor, which pokes each second."""
        every = {"poke_interval": 1.0, "timeout": 300} | dict(arguments)
        return self._row(f"sensors.{path}", {"deferrable": True, **every}, answers, **given)

    def operator(
        self, path: str, arguments: Mapping[str, Any], answers: Mapping[str, Any], **given: Any
    ) -> ProviderRow:
        """Return the row of an operator."""
        return self._row(f"operators.{path}", {"deferrable": True, **arguments}, answers, **given)

    def trigger(self, path: str, arguments: Mapping[str, Any], answers: Mapping[str, Any], **given: Any) -> ProviderRow:
        """Return the row of a trigger."""
        return self._row(f"triggers.{path}", arguments, answers, is_trigger=True, **given)

    def _row(
        self,
        path: str,
        arguments: Mapping[str, Any],
        answers: Mapping[str, Any],
        prepare: Callable[[], None] | None = None,
        **given: Any,
    ) -> ProviderRow:
        name = re.sub(r"\W", "_", f"{path}_{given.get('case', '')}").lower().strip("_")
        row = ProviderRow(
            family=self._family,
            path=f"amazon.aws.{path}",
            arguments={"aws_conn_id": name, **arguments},
            connections={name: self._servers.aws.connection(name)},
            answers=answers,
            **given | ({} if prepare is None else {"prepare": prepare}),
        )
        self._servers.expect(row.key, self._servers.aws.add(name, answers))
        return row


def states(path: str, *values: Any, **others: Any) -> list[Any]:
    """Return one answer for each value, which is at this path of it, such as `Cluster.Status.State`."""
    return [_nested(path.split("."), value) | others for value in values]


def _nested(names: list[str], value: Any) -> dict[str, Any]:
    for name in reversed(names):
        value = {name: value}
    return dict(value)


def classifier_states() -> list[Any]:
    """Return the answers of a document classifier of Comprehend that is being trained."""
    metadata = {"NumberOfLabels": 2}
    return [
        {"DocumentClassifierProperties": {"Status": status, "ClassifierMetadata": metadata}}
        for status in ("TRAINING", "TRAINED")
    ]
