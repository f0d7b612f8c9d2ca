"""Secrets backends for tests, and how a test lets Airflow use one."""

import json
import threading
from collections.abc import Mapping
from typing import Any

import pytest
from airflow.sdk.bases.secrets_backend import BaseSecretsBackend
from airflow.sdk.configuration import clear_secrets_backends_cache
from torpor_airflow import environment

SECONDS_MAX = 60.0


class SampleBackend(BaseSecretsBackend):
    """Has the values of its arguments, and records each query with its thread."""

    asked: list[tuple[str, int]] = []  # noqa: RUF012 - of all instances: Airflow makes them

    def __init__(
        self, connections: Mapping[str, str] | None = None, variables: Mapping[str, str] | None = None
    ) -> None:
        super().__init__()
        self.connections = connections or {}
        self.variables = variables or {}

    def get_conn_value(self, conn_id: str, team_name: str | None = None) -> str | None:
        self.asked.append((conn_id, threading.get_ident()))
        return self.connections.get(f"{team_name}/{conn_id}" if team_name else conn_id)

    def get_variable(self, key: str, team_name: str | None = None) -> str | None:
        self.asked.append((key, threading.get_ident()))
        return self.variables.get(key)


class FailingBackend(SampleBackend):
    """Fails with an error that contains a secret."""

    def get_conn_value(self, conn_id: str, team_name: str | None = None) -> str | None:
        raise ConnectionError("no answer to the token hunter22")

    def get_variable(self, key: str, team_name: str | None = None) -> str | None:
        raise ConnectionError("no answer to the token hunter22")


class WaitingBackend(SampleBackend):
    """Answers after `released`, which another wait sets once this one has been asked."""

    entered = threading.Event()
    released = threading.Event()

    def get_conn_value(self, conn_id: str, team_name: str | None = None) -> str | None:
        self.entered.set()
        assert self.released.wait(SECONDS_MAX)
        return self.connections.get(conn_id)  # it is recorded nowhere: the test that asked may have ended


def use(monkeypatch: pytest.MonkeyPatch, name: str, **kwargs: Any) -> None:
    """Let this process and its children use a class of this module until the end of the test."""
    SampleBackend.asked.clear()
    use_class(monkeypatch, f"sample_backend.{name}", kwargs)


def use_class(monkeypatch: pytest.MonkeyPatch, class_path: str, kwargs: Mapping[str, Any]) -> None:
    """The same for a class by its path."""
    given = {"backend": class_path, "backend_kwargs": dict(kwargs)}
    monkeypatch.setenv("AIRFLOW__SECRETS__BACKEND", environment.BACKEND)
    monkeypatch.setenv("AIRFLOW__SECRETS__BACKEND_KWARGS", json.dumps(given))
    clear_secrets_backends_cache()
