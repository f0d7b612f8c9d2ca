"""Clients of object stores: a few for each bucket and set of credentials.

A client opens its own connections and reads whole responses, so it uses the triggerer's proxy, which checks addresses
and counts bytes. A poll has a client to itself, so the counts are those of one poll. A cloud that grants the triggerer
an identity is reached directly, because its metadata service is. Credentials are never taken from the process: without
any, requests are unsigned, unless the triggerer lends its identity, which no endpoint of an author ever receives.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from torpor.triggers.services import Proxy, Services
from torpor.triggers.support import file_access, metering
from torpor.triggers.support.metering import AddressDeniedError, AnswerTooLargeError, ByteMeter
from torpor.triggers.support.object_urls import LISTING, ObjectLocation, words

if TYPE_CHECKING:
    import asyncio

    from obstore.store import ObjectStore

SECRET = {"secret_access_key", "session_token", "service_account_key", "account_key", "sas_token"}
REGION = "us-east-1"
CONNECT_SECONDS, ANSWER_SECONDS = "5s", "15s"
CLIENTS = 4
"""Clients for each bucket, and so the concurrent polls."""


def has_credentials(options: Mapping[str, Any]) -> bool:
    """Return whether the options contain credentials."""
    return not SECRET.isdisjoint(options)


class ObjectClients:
    """The clients of one bucket, created as polls need them. They connect on first use."""

    def __init__(self, place: ObjectLocation, options: Mapping[str, Any], services: Services) -> None:
        self._place = place
        self._options = options
        self._services = services
        self._room: asyncio.Semaphore | None = None
        self._idle: list[_StoreClient] = []
        self._all: list[_StoreClient] = []

    @asynccontextmanager
    async def borrow(self) -> "AsyncIterator[ObjectStore]":
        """Borrow a client for one poll.

        Raises AnswerTooLargeError or AddressDeniedError if that was the cause of a failure.
        """
        import asyncio

        self._room = self._room or asyncio.Semaphore(CLIENTS)
        async with self._services.answering(), self._room:
            client = self._idle.pop() if self._idle else await self._client()
            client.begin()
            try:
                yield client.store
                client.explain()
            except Exception as error:
                client.explain(error)
                raise
            finally:
                self._idle.append(client)

    async def close(self) -> None:
        """Close the proxies."""
        for client in self._all:
            if client.proxy is not None:
                await client.proxy.close()

    async def _client(self) -> "_StoreClient":
        meter = ByteMeter(LISTING * self._services.answer_bytes)
        proxy = None if self._is_direct() else await self._services.proxy(meter)
        client = _StoreClient(make(self._place, self._options, self._services, proxy), meter, proxy)
        self._all.append(client)
        return client

    def _is_direct(self) -> bool:
        """Return whether to connect without a proxy: for files, and for the identity of the triggerer."""
        return self._place.scheme == "file" or (
            self._services.lends_identity and not has_credentials(self._options) and not self._options.get("anonymous")
        )


class _StoreClient(NamedTuple):
    store: "ObjectStore"
    meter: ByteMeter
    proxy: Proxy | None

    def begin(self) -> None:
        self.meter.start()
        if self.proxy is not None:
            self.proxy.denied = self.proxy.failed = ""

    def explain(self, error: Exception | None = None) -> None:
        """Raise the cause of a failure that the client cannot know or mistakes for a response of the store."""
        if self.meter.exceeded:
            message = f"its response is larger than {metering.size(self.meter.limit)}: use a folder with fewer objects"
            raise AnswerTooLargeError(message) from error
        if self.proxy is not None and self.proxy.denied:
            raise AddressDeniedError(self.proxy.denied) from error
        if self.proxy is not None and self.proxy.failed:
            raise ConnectionError(self.proxy.failed) from error


def make(place: ObjectLocation, options: Mapping[str, Any], services: Services, proxy: Proxy | None) -> "ObjectStore":
    """Create a client. Raises ValueError for options that the store rejects."""
    from obstore import exceptions
    from obstore.store import LocalStore

    way = {} if proxy is None else {"proxy_url": proxy.url, "pool_max_idle_per_host": "0"}
    try:
        if place.scheme == "file":
            return LocalStore(prefix=file_access.folder_of(f"/{place.key}", services.folders))
        make = {"s3": _s3, "gs": _gs, "az": _az}[place.scheme]
        return make(place.bucket, options, not services.lends_identity, way)
    except exceptions.BaseError as error:
        raise ValueError(f"url and options are not valid for the store: {words(error)}") from error


def _s3(bucket: str, options: Mapping[str, Any], alone: bool, way: Mapping[str, str]) -> "ObjectStore":
    from obstore.store import S3Store

    given: dict[str, Any] = {"region": options.get("region", REGION)}
    if "endpoint" in options:
        given["endpoint"] = options["endpoint"]
    if "virtual_hosted" in options:
        given["virtual_hosted_style_request"] = options["virtual_hosted"]
    if "secret_access_key" in options:
        # A function, because the client would take missing parts from the environment.
        keys = {
            "access_key_id": str(options["access_key_id"]),
            "secret_access_key": str(options["secret_access_key"]),
            "token": str(options["session_token"]) if "session_token" in options else None,
            "expires_at": None,
        }
        given["credential_provider"] = lambda: keys
    elif alone or options.get("anonymous"):
        given["skip_signature"] = True
    if "endpoint" in options:
        return S3Store(bucket, **given, **_client_options(way, plain=options["endpoint"].startswith("http://")))
    return S3Store(bucket, **given, **_client_options(way, plain=not alone))


def _gs(bucket: str, options: Mapping[str, Any], alone: bool, way: Mapping[str, str]) -> "ObjectStore":
    from obstore.store import GCSStore

    given: dict[str, Any] = {}
    if "service_account_key" in options:
        given["service_account_key"] = str(options["service_account_key"])
    elif alone or options.get("anonymous"):
        given["skip_signature"] = True
    return GCSStore(bucket, **given, **_client_options(way))


def _az(container: str, options: Mapping[str, Any], alone: bool, way: Mapping[str, str]) -> "ObjectStore":
    from obstore.store import AzureStore

    given: dict[str, Any] = {"account_name": options["account_name"]}
    if "account_key" in options:
        given["account_key"] = str(options["account_key"])
    elif "sas_token" in options:
        given["sas_key"] = str(options["sas_token"])
    elif alone or options.get("anonymous"):
        given["skip_signature"] = True
    return AzureStore(container, **given, **_client_options(way))


def _client_options(way: Mapping[str, str], *, plain: bool = False) -> dict[str, Any]:
    """Return the options of a client without retries, because a deferral polls again. `plain` allows http."""
    limits = {"connect_timeout": CONNECT_SECONDS, "timeout": ANSWER_SECONDS, "allow_http": plain, **way}
    return {"client_options": limits, "retry_config": {"max_retries": 0}}
