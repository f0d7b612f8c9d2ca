"""Polls an object store (S3, Google Cloud Storage, Azure, files) for an object or for a number of objects.

One listing serves all deferrals in a folder. No answer means "not yet"; rejected credentials fail the deferral. Secrets
among the options must be SecretRefs.
"""

import re
from collections.abc import Hashable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from torpor_wire import constants, times

from torpor.triggers import cursors, events
from torpor.triggers.base import BaseTrigger
from torpor.triggers.cursors import UNSET, Cursor, SettlingWindow
from torpor.triggers.events import TriggerEvent
from torpor.triggers.services import Services
from torpor.triggers.support import arguments, file_access, object_clients, object_urls, polling
from torpor.triggers.support.arguments import Reference, Revealed
from torpor.triggers.support.metering import AddressDeniedError, AnswerTooLargeError
from torpor.triggers.support.object_urls import ObjectInfo, ObjectLocation

if TYPE_CHECKING:
    from obstore.store import ObjectStore

COUNT_MAX = 10_000
INTERVAL = 10.0
_OPTIONS = {
    "s3": {"endpoint", "region", "virtual_hosted", "access_key_id", "secret_access_key", "session_token", "anonymous"},
    "gs": {"service_account_key", "anonymous"},
    "az": {"account_name", "account_key", "sas_token", "anonymous"},
    "file": set(),
}
_SHAPES = {
    "region": re.compile(r"[a-z0-9-]{1,40}"),
    "account_name": re.compile(r"[a-z0-9]{3,24}"),
}
"""Patterns of options that become part of a host name."""
_FLAGS = {"anonymous", "virtual_hosted"}


class Object(BaseTrigger):
    """Fires when an object exists, or enough objects exist under a prefix.

    The event of an object is `{path, size, last_modified, e_tag}`. The event of a prefix is `{count, objects}`, with as
    many objects as fit.

    With `cursor`, a prefix fires for objects that were in no event before, in the order of their times and names. The
    event is `{count, objects, cursor}`; objects that do not fit are in the next event. A single object fires if it
    differs from the version that fired last.

        Object("s3://lake/2026-11-21/", count=24, options={"region": "eu-central-1"})

    Args:
        url: Such as `s3://bucket/key`, `gs://bucket/key`, `az://container/path` or `file:///data/key`. A prefix ends
            with a slash.
        count: The minimum number of objects under a prefix.
        options: Endpoint, region, account and credentials of the store; secrets as SecretRef.
        interval: Time between two polls: a timedelta, seconds, or text such as `30s`.
        settle: With `cursor`: how long after an object another one with an earlier time may appear under a prefix.
        cursor: The position after the last event, or a time.
    """

    poll_at_once = 5000
    requires = ("obstore",)
    extra = "torpor[objects]"

    def __init__(  # noqa: PLR0913 - the parts of a query, each with a default
        self,
        url: str,
        *,
        count: int | None = None,
        options: Mapping[str, str | bool | Reference] | None = None,
        interval: timedelta | float | str = INTERVAL,
        settle: timedelta | float | str = cursors.SETTLE,
        cursor: Cursor = UNSET,
    ) -> None:
        self.url = url
        self.place = object_urls.parse_object_url(url)
        self.count = None if count is None else arguments.count(count, "count", most=COUNT_MAX)
        self.options = _options(options, self.place)
        self.interval = arguments.seconds(interval, "interval", least=polling.INTERVAL_MIN)
        self.settle = arguments.seconds(settle, "settle")
        self.cursor = cursors.cursor(cursor)
        self._after = cursors.progress(self.cursor) if self.place.is_folder else cursors.progress(None)
        self._settling_window = SettlingWindow(self.settle, self._after.complete)
        if self.count is not None and not self.place.is_folder:
            raise ValueError("count needs a prefix: end url with a slash")

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the arguments that differ from their defaults."""
        count, options = None if self.count == 1 else self.count, self.options or None
        given = arguments.differing(self, Object.__init__, count=count, options=options)
        return "object", given | cursors.stored(self.cursor)

    def bind(self, services: Services) -> None:
        """Check that files are in an allowed folder, and that no custom endpoint gets the triggerer's identity."""
        super().bind(services)
        if self.place.scheme == "file":
            file_access.folder_of(f"/{self.place.key}", services.folders)
        lent = (
            services.lends_identity
            and not object_clients.has_credentials(self.options)
            and not self.options.get("anonymous")
        )
        if lent and "endpoint" in self.options:
            raise ValueError(
                "an endpoint needs credentials or anonymous: true, because it must not get those of the triggerer"
            )
        missing = [name for name, value in self.options.items() if arguments.is_reference(value)]
        if missing:
            raise TypeError(f"options: {missing[0]} is a secretRef that was not resolved")

    @property
    def source(self) -> Hashable:  # type: ignore[override]
        """The folder and the credentials. A prefix and a single object are polled separately, files each alone.

        A cursor needs the whole listing of a prefix.
        """
        place = self.place
        if place.scheme == "file":
            return None
        is_whole = place.is_folder and self.cursor is not UNSET
        return place.scheme, place.bucket, place.folder, place.is_folder, is_whole, tuple(sorted(self.options.items()))

    @classmethod
    async def poll_many(
        cls, waits: "Sequence[Object]", services: Services
    ) -> Sequence[TriggerEvent | Exception | None]:
        """Send one listing for all of them, or one request each if they are few."""
        first = waits[0]
        if not object_urls.is_loaded():
            await services.in_thread(object_urls.load)
        place, options = first.place, first.options
        key = ("object", services.namespace, place.scheme, place.bucket, first.opened(), tuple(sorted(options.items())))
        async with services.shared(
            key, lambda: object_clients.ObjectClients(place, options, services), object_clients.ObjectClients.close
        ) as clients:
            try:
                async with clients.borrow() as store:
                    return await (first.look_into(store, waits) if place.is_folder else first.look_for(store, waits))
            except (AnswerTooLargeError, AddressDeniedError) as error:
                raise type(error)(f"{first.url} must not be read: {error}") from error
            except PermissionError as error:
                raise PermissionError(f"{first.url} must not be read: {error}{_hint(place)}") from error
            except OSError as error:
                shown = first.url if len(waits) == 1 else place._replace(key=place.folder)
                raise ConnectionError(f"{shown} cannot be read: {error}") from error

    async def look_into(self, store: "ObjectStore", waits: "Sequence[Object]") -> Sequence[TriggerEvent | None]:
        """Return the result of each deferral on this prefix."""
        count = max(wait.count or 1 for wait in waits) if self.cursor is UNSET else None
        listed = await object_urls.listed(store, self.key(), count, self.services.answer_bytes)
        objects = [item for item in listed if await self._inside(f"{self.opened()}/{item.path}")]
        return [wait.of_folder(objects) for wait in waits]

    async def look_for(
        self, store: "ObjectStore", waits: "Sequence[Object]"
    ) -> Sequence[TriggerEvent | Exception | None]:
        """Return the result of each deferral on an object in this folder."""
        if not await self._inside(f"/{self.place.key}"):
            return [self.of_object(None)]
        objects = await object_urls.heads(store, self.place.folder, {wait.key() for wait in waits})
        return [wait.of_object(objects[wait.key()]) for wait in waits]

    def of_folder(self, objects: Sequence[ObjectInfo]) -> TriggerEvent | None:
        """Return the event of a prefix, if it has enough objects."""
        wanted = self.count or 1
        if self.cursor is not UNSET:
            return self._of_new(objects, wanted)
        self.last_look = f"{len(objects)} of {wanted} objects are under {self.url}"
        if len(objects) < wanted:
            return None
        return TriggerEvent(
            events.fit_items({"count": len(objects)}, "objects", [self._describe(item) for item in objects])
        )

    def _of_new(self, objects: Sequence[ObjectInfo], wanted: int) -> TriggerEvent | None:
        """Return the event of the objects after the cursor, without the newest ones."""
        places = [(cursors.position(item.modified, item.path), item) for item in objects]
        new = cursors.settled(places, self._after, self._settling_window, self.services.now())
        self.last_look = f"{len(new.items)} of {wanted} new objects are under {self.url}{new.remark}"
        if len(new.items) < wanted:
            return None
        return TriggerEvent(
            cursors.batch("objects", [(place, self._describe(item)) for place, item in new.items], new.complete)
        )

    def of_object(self, item: ObjectInfo | Exception | None) -> TriggerEvent | Exception | None:
        """Return the event of an object, if it exists."""
        if isinstance(item, PermissionError):
            return PermissionError(f"{self.url} must not be read: {item}{_hint(self.place)}")
        if isinstance(item, Exception):
            return item
        self.last_look = f"{self.url} {'does not exist' if item is None else 'exists'}"
        if item is None:
            return None
        version = f"{cursors.timestamp(item.modified)} {item.e_tag or item.size}"[: constants.CURSOR_MAX]
        if version == self.cursor:
            self.last_look += " and has not changed"
            return None
        return TriggerEvent(cursors.with_cursor(self._describe(item), self.cursor, version))

    async def _inside(self, path: str) -> bool:
        """Return whether a file is not a link that leads out of the allowed folder."""
        folder = self.opened()
        if not folder:
            return True
        try:
            return bool(await self.services.in_thread(lambda: file_access.real(path, folder)))
        except OSError:
            return False

    def opened(self) -> str:
        """Return the allowed folder that contains the file; empty for other stores."""
        is_file = self.place.scheme == "file"
        return file_access.folder_of(f"/{self.place.key}", self.services.folders) if is_file else ""

    def key(self) -> str:
        """Return the key within the store; a store of files begins at the allowed folder."""
        folder = self.opened()
        return f"/{self.place.key}".removeprefix(f"{folder}/") if folder else self.place.key

    def _describe(self, item: ObjectInfo) -> dict[str, Any]:
        folder = self.opened()
        return {
            "path": f"{folder}/{item.path}" if folder else item.path,
            "size": item.size,
            "last_modified": times.rfc3339(item.modified),
            "e_tag": item.e_tag,
        }


def _hint(place: ObjectLocation) -> str:
    if place.scheme != "s3":
        return ""
    return " (S3 also returns this for a missing object if the credentials may not list the bucket)"


def _options(options: object, place: ObjectLocation) -> dict[str, Any]:
    if options is None:
        options = {}
    if not isinstance(options, Mapping):
        raise TypeError(f"options must be a mapping, not {type(options).__name__}")
    taken = _OPTIONS[place.scheme]
    checked = {str(name): _option(str(name), value, taken, place.scheme) for name, value in options.items()}
    if place.scheme == "az" and "account_name" not in checked:
        raise ValueError("options: az needs account_name")
    if ("secret_access_key" in checked) != ("access_key_id" in checked):
        raise ValueError("options: access_key_id and secret_access_key go together")
    return checked


def _option(name: str, value: object, taken: set[str], scheme: str) -> Any:
    if name not in taken:
        raise ValueError(f"options: {scheme} accepts {', '.join(sorted(taken)) or 'none'}, not {name[:50]!r}")
    if arguments.is_reference(value) and name not in _FLAGS:
        return arguments.reference(value, f"options: {name}")
    if name in _FLAGS:
        if not isinstance(value, bool):
            raise TypeError(f"options: {name} must be true or false")
        return value
    if name in object_clients.SECRET and not isinstance(value, Revealed):
        raise ValueError(
            f"options: {name} is a secret, and the TaskRun would show it; give {{secretRef: {{name: ..., key: ...}}}}"
        )
    if isinstance(value, Revealed):
        return value
    given = arguments.text(value, f"options: {name}")
    if name in _SHAPES and not _SHAPES[name].fullmatch(given):
        raise ValueError(f"options: {name} {given[:50]!r} is not valid")
    if name == "endpoint" and (not given.startswith(("http://", "https://")) or "@" in given):
        raise ValueError("options: endpoint is an address such as https://minio.example.org:9000, without credentials")
    return given
