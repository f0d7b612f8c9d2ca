"""What every act is: a right that it needs, what it will do, and doing it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from torpor_client.errors import UserError
from torpor_kubernetes.client.errors import ApiError

from torpor_ui import errors
from torpor_ui.acts.request import ActRequest
from torpor_ui.acts.rights import Right
from torpor_ui.cluster.caller import Caller
from torpor_ui.errors import ProblemError

AT_ONCE = 5
"""Objects that one request changes at the same time."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ActPreview:
    """What an act will do, and the command that does the same. `warnings`: what cannot be done, and why."""

    effects: tuple[str, ...]
    command: str
    warnings: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    """What a form needs besides, such as the params of the new run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActFailure:
    """What was not changed, and why."""

    key: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActOutcome:
    """What was done. `created`: the key of a new run."""

    done: tuple[str, ...] = ()
    failed: tuple[ActFailure, ...] = ()
    created: str | None = None


class Act(Protocol):
    """An act. Both methods raise ProblemError for a request that cannot be done at all."""

    right: Right

    async def preview(self, caller: Caller, request: ActRequest) -> ActPreview:
        """Return what the act will do. Changes nothing."""

    async def perform(self, caller: Caller, request: ActRequest) -> ActOutcome:
        """Do it."""


async def each(keys: Iterable[T], change: Callable[[T], Awaitable[str]]) -> ActOutcome:
    """Change several objects, a few at a time. `change` returns what was done; its errors are failures of its key."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def changed(key: T) -> str | ActFailure:
        async with limit:
            try:
                return await change(key)
            except (UserError, ProblemError, ApiError) as error:
                return ActFailure(key=str(key), message=message_of(error))

    outcomes = await asyncio.gather(*map(changed, keys))
    return ActOutcome(
        done=tuple(outcome for outcome in outcomes if isinstance(outcome, str)),
        failed=tuple(outcome for outcome in outcomes if isinstance(outcome, ActFailure)),
    )


def message_of(error: Exception) -> str:
    """Return the sentence of an error for the person who acts."""
    return errors.from_api(error).problem.message if isinstance(error, ApiError) else str(error)
