"""URLs of objects, and queries of object stores. `object_clients` creates the clients."""

import re
from collections.abc import AsyncIterator, Collection, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from torpor.triggers.support.metering import AnswerTooLargeError

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ObjectStore

SCHEMES = ("s3", "gs", "az", "file")
EXAMPLES = "s3://bucket/key, gs://bucket/key, az://container/path or file:///data/key"
LISTED = 100
LISTING = 8
"""The size limit of a listing, as a multiple of that of other responses: it has pages."""
_URL_MAX = 2048
_CHUNK = 1000
_CHEAPER = 10
_AT_ONCE = 8
_STATUS = re.compile(r"status code: ([0-9]{3}[ \w]*)")
_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
_VARYING = re.compile(r"\?\S*| in [0-9.]+(?:ns|µs|ms|s)\b")
"""Parts of an error that may contain a signature or differ each time."""


class ObjectLocation(NamedTuple):
    """An object, or all objects under a prefix if the key is empty or ends with a slash."""

    scheme: str
    bucket: str
    key: str

    @property
    def is_folder(self) -> bool:
        """Whether it is a prefix."""
        return self.key.endswith("/") or not self.key

    @property
    def folder(self) -> str:
        """The prefix that contains the object, or the prefix itself, with its slash."""
        return self.key[: self.key.rfind("/") + 1]

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.key}"


class ObjectInfo(NamedTuple):
    """An object: size in bytes, `modified` in seconds since the epoch."""

    path: str
    size: int
    modified: float
    e_tag: str | None


def parse_object_url(url: object) -> ObjectLocation:
    """Return the place of a URL. The key is not decoded. Raises TypeError or ValueError."""
    if not isinstance(url, str):
        raise TypeError(f"url must be text, not {type(url).__name__}")
    scheme, _, rest = url.partition("://")
    bucket, _, key = rest.partition("/")
    if scheme not in SCHEMES or bool(bucket) == (scheme == "file") or len(url) > _URL_MAX or not url.isprintable():
        raise ValueError(f"url {url[:100]!r} is not a URL such as {EXAMPLES}")
    if "@" in bucket or "?" in bucket or "//" in key or {".", ".."} & set(key.split("/")):
        raise ValueError(f"url {url[:100]!r} contains more than a bucket and a key")
    return ObjectLocation(scheme, bucket, key)


@cache
def load() -> None:
    """Import the library."""
    import_module("obstore.store")


def is_loaded() -> bool:
    """Return whether `load` has returned. `sys.modules` also has a module whose import is under way."""
    return load.cache_info().currsize > 0


async def head(store: "ObjectStore", path: str) -> ObjectInfo | None:
    """Return an object, or None.

    Raises OSError if there is no answer now, PermissionError or ValueError if there never will be.
    """
    import obstore

    try:
        return _object_info(await obstore.head_async(store, path))
    except (FileNotFoundError, obstore.exceptions.NotFoundError):
        return None
    except obstore.exceptions.BaseError as error:
        raise _meant(error) from error


async def listed(store: "ObjectStore", folder: str, count: int | None, most: int) -> list[ObjectInfo]:
    """Return at least `count` objects under a prefix, if there are as many, or all, by path. Raises as `head` does.

    Raises AnswerTooLargeError if their paths have more than `LISTING` times `most` characters.
    """
    objects: list[ObjectInfo] = []
    left = LISTING * most
    async for page in _pages(store, folder):
        left -= sum(len(item.path) for item in page)
        if left < 0:
            raise AnswerTooLargeError("its listing is too large: use a folder with fewer objects")
        objects += page
        if count is not None and len(objects) >= max(count, LISTED):
            break
    return sorted(objects)


async def heads(
    store: "ObjectStore", folder: str, paths: Collection[str]
) -> Mapping[str, ObjectInfo | Exception | None]:
    """Return each object, None if it does not exist, or the error of an object that may not be read.

    A listing comes first if it costs at most a tenth of the requests: objects that it does not contain do not exist.
    Raises OSError if there is no answer now.
    """
    import asyncio

    absent = await _unlisted(store, folder, paths, pages=len(paths) // _CHEAPER)
    results: dict[str, ObjectInfo | Exception | None] = dict.fromkeys(absent)
    left = [path for path in paths if path not in absent]
    while left:
        now, left = left[:_AT_ONCE], left[_AT_ONCE:]
        results.update(zip(now, await asyncio.gather(*(_looked_at(store, path) for path in now)), strict=True))
    return results


async def _looked_at(store: "ObjectStore", path: str) -> ObjectInfo | Exception | None:
    try:
        return await head(store, path)
    except (PermissionError, ValueError) as error:
        return error


async def _unlisted(store: "ObjectStore", folder: str, paths: Collection[str], *, pages: int) -> set[str]:
    """Return which objects are missing in a prefix; none if so many pages do not show it."""
    left = set(paths)
    if pages == 0:
        return set()
    try:
        async for page in _pages(store, folder):
            if pages == 0:
                return set()
            left.difference_update(item.path for item in page)
            pages -= 1
    except PermissionError:  # objects may be readable although listing is denied
        return set()
    return left


async def _pages(store: "ObjectStore", folder: str) -> "AsyncIterator[list[ObjectInfo]]":
    """Yield the objects under a prefix, one page for each request."""
    import obstore

    try:
        async for chunk in obstore.list(store, prefix=folder.rstrip("/") or None, chunk_size=_CHUNK):
            yield [_object_info(meta) for meta in chunk]
    except (FileNotFoundError, obstore.exceptions.NotFoundError):
        return
    except obstore.exceptions.BaseError as error:
        raise _meant(error) from error


def _object_info(meta: "ObjectMeta") -> ObjectInfo:
    return ObjectInfo(meta["path"], meta["size"], meta["last_modified"].timestamp(), meta["e_tag"])


def _meant(error: Exception) -> Exception:
    """Return the error of the client as one of ours; a transient one is an OSError. Listings only report a status."""
    from obstore import exceptions

    message = words(error)
    match error:
        case exceptions.PermissionDeniedError() | exceptions.UnauthenticatedError():
            return PermissionError(message)
        case exceptions.GenericError() if message.startswith(("401", "403")):
            return PermissionError(message)
        case exceptions.GenericError() | exceptions.JoinError():
            return ConnectionError(message)
        case _:
            return ValueError(message)


def words(error: Exception) -> str:
    """Return status and code of a response, or the error, without signed URLs and documents."""
    message = str(error).partition("\n\nDebug source")[0]
    status, code = _STATUS.search(message), _CODE.search(message)
    if status is not None:
        return f"{status[1].strip()} ({code[1]})" if code else status[1].strip()
    return _VARYING.sub("", message.partition("\n")[0])
