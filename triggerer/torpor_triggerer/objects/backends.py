"""What an object task needs of its triggerer.

A protocol, because the command line knows the class of object tasks too, and has neither connections nor their library.
"""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from torpor_kubernetes.client.api import Api
from torpor_wire.canonical import Json

from torpor_triggerer.model.deferred_taskrun import SegmentId
from torpor_triggerer.services.account_tokens import AccountApis
from torpor_triggerer.services.client_pool import ClientPool


class ObjectBackends(Protocol):
    """The API server with Torpor's rights and with those of accounts, and shared clients."""

    @property
    def api(self) -> Api:
        """With the rights of Torpor."""

    @property
    def accounts(self) -> AccountApis:
        """With the rights of ServiceAccounts."""

    @property
    def clients(self) -> ClientPool:
        """The clients that waits share."""


@runtime_checkable
class ObjectServices(Protocol):
    """The services of one wait in the main loop of a triggerer."""

    @property
    def namespace(self) -> str:
        """The namespace of the task."""

    @property
    def account(self) -> str:
        """The ServiceAccount of the task."""

    @property
    def name(self) -> str:
        """The name of the TaskRun."""

    @property
    def segment_id(self) -> SegmentId:
        """The segment that waits."""

    @property
    def backends(self) -> ObjectBackends:
        """What all waits share."""

    async def evaluate(self, expression: str, variables: Mapping[str, Json]) -> Json:
        """Return the value of an expression."""
