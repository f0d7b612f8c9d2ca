"""The errors of an operator, and the arguments of its trigger, contain no secret in any form."""

import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import PurePosixPath
from typing import Any

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from airflow.sdk import serde
from airflow.sdk._shared.secrets_masker import _secrets_masker
from airflow.sdk.log import mask_secret
from torpor import TaskFailed
from torpor_airflow.operators import hidden_texts
from torpor_airflow.operators.deferral import DeferredAirflowTrigger

PASSWORD = "of-the-vault"


@dataclass
class Header:
    """An object that only Airflow's serde can encode."""

    value: str


serde.allow_class(Header)


class SecretMember(Enum):
    """A member with a secret."""

    VAULT = f"at {PASSWORD}"


class TextlessError(Exception):
    """Its text cannot be built."""

    def __str__(self) -> str:
        raise KeyError(PASSWORD)


class FixedError(Exception):
    """Its arguments cannot be replaced."""

    args = property(lambda _: (PASSWORD,))

    def __str__(self) -> str:
        return "fixed"


class Unwritable:
    """An argument whose text cannot be built."""

    def __repr__(self) -> str:
        raise KeyError(PASSWORD)


@pytest.fixture(autouse=True)
def masked() -> Iterator[None]:
    """Airflow masks the password, as for a connection."""
    mask_secret(PASSWORD)
    yield
    _secrets_masker().reset_masker()


def noted() -> Exception:
    error = ValueError("no answer")
    error.add_note(f"the header was {PASSWORD}")
    return error


def caused(depth: int) -> Exception:
    """Return an error whose last cause contains the password."""
    error = ValueError(f"it is {PASSWORD}")
    for _ in range(depth):
        outer = ValueError("outer")
        outer.__cause__ = error
        error = outer
    return error


def shown(error: BaseException) -> str:
    return "".join(traceback.format_exception(hidden_texts.without_secrets(error, is_final=False)))


@pytest.mark.attack
@pytest.mark.parametrize(
    ("error", "kept"),
    [
        (noted(), "the header was ***"),
        (ExceptionGroup("several", [ValueError(PASSWORD), ExceptionGroup("inner", [noted()])]), "the header was ***"),
        (ExceptionGroup("several", [caused(3)]), "it is ***"),
        (ExceptionGroup(f"with {PASSWORD}", [ValueError("one")]), "ExceptionGroup: with ***"),
        (ExceptionGroup("many", [ValueError(PASSWORD) for _ in range(1_000)]), "RuntimeError: ExceptionGroup: many"),
        (caused(1_000), "RuntimeError: ValueError: outer"),
        (TextlessError(PASSWORD), "RuntimeError: TextlessError"),
        (FixedError(), "RuntimeError: FixedError: fixed"),
        (ValueError(Unwritable()), "ValueError: Unwritable"),
    ],
)
def test_no_part_of_an_error_shows_a_secret(error: BaseException, kept: str) -> None:
    text = shown(error)
    assert PASSWORD not in text
    assert kept in text


def test_an_error_without_a_secret_stays_as_it_is() -> None:
    argument = object()
    error = ExceptionGroup("several", [ValueError(argument), noted()])
    assert hidden_texts.without_secrets(error, is_final=True) is error
    assert error.exceptions[0].args == (argument,)


def test_a_final_error_that_cannot_be_read_ends_the_task() -> None:
    error = hidden_texts.without_secrets(TextlessError(), is_final=True)
    assert (type(error), str(error)) == (TaskFailed, "TextlessError: no text")


@pytest.mark.attack
@pytest.mark.parametrize(
    "value",
    [
        f"Bearer {PASSWORD}",
        {"headers": [{PASSWORD: 1}]},
        f"Bearer {PASSWORD}".encode(),
        Header(PASSWORD),
        [Header(f"Bearer {PASSWORD}")],
        PurePosixPath("/run", PASSWORD),
        SecretMember.VAULT,
    ],
)
def test_an_argument_that_contains_a_secret_in_any_form_is_sealed(value: Any) -> None:
    trigger = DeferredAirflowTrigger("a.Trigger", {"given": value}, connections={}, variables={}, ends_task=False)
    assert list(trigger.serialize()[1]) == ["encrypted__given"]


@pytest.mark.parametrize("value", [1, None, 1.5, "text", b"\xff", Header("plain"), datetime(2026, 11, 26, tzinfo=UTC)])
def test_an_argument_without_a_secret_is_not_sealed(value: Any) -> None:
    trigger = DeferredAirflowTrigger("a.Trigger", {"given": value}, connections={}, variables={}, ends_task=False)
    assert list(trigger.serialize()[1]) == ["given"]
