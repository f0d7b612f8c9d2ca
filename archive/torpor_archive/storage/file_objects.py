"""Files of tasks in an object store: the archive signs URLs, and the bytes never pass it (ADR 0064).

A file is a sequence of objects below a prefix of its own, each with PART bytes but the last. The archive chooses all
names. A URL is for one object and one method, for a few minutes.
"""

import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import obstore
from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, ObjectStore, S3Store, from_url

from torpor_archive import errors
from torpor_archive.errors import RefusedError
from torpor_archive.namespaces import NamespaceId

PART = 8 * 1024**2
"""Bytes of an object: what a helper holds in memory, and repeats after a failure."""
BATCH = 32
"""URLs of one response."""
URL_SECONDS = 300
_PIECE = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedParts:
    """URLs for consecutive objects from number `first`, and the headers that an upload needs."""

    first: int
    urls: tuple[str, ...]
    headers: dict[str, str]


class FileBucket:
    """One bucket, with a prefix."""

    def __init__(self, store: S3Store | GCSStore | AzureStore) -> None:
        self._store = store

    @classmethod
    def open(cls, url: str) -> "FileBucket | None":
        """Use the store of the logs; None for one that signs no URLs, such as a folder. Raises ValueError."""
        try:
            store: ObjectStore = from_url(url)
        except BaseError as error:
            raise ValueError(f"cannot use the object store {url!r}: {error}") from error
        return cls(store) if isinstance(store, S3Store | GCSStore | AzureStore) else None

    async def sign(self, method: str, prefix: str, first: int, count: int) -> SignedParts:
        """Sign URLs for `count` objects of a file. Raises RefusedError (503)."""
        names = [object_name(prefix, number) for number in range(first, first + count)]
        try:
            urls = await obstore.sign_async(self._store, method, names, timedelta(seconds=URL_SECONDS))  # type: ignore[call-overload]
        except BaseError as error:
            raise RefusedError(_unavailable(error)) from error
        headers = {"x-ms-blob-type": "BlockBlob"} if isinstance(self._store, AzureStore) and method == "PUT" else {}
        return SignedParts(first=first, urls=tuple(urls), headers=headers)

    async def check(self, prefix: str, size: int) -> None:
        """Raise RefusedError (400) unless the objects of a file are those of a file of this size."""
        sizes: dict[str, int] = {}
        try:
            async for page in obstore.list(self._store, prefix):
                sizes.update({str(entry["path"]): int(entry["size"]) for entry in page})
        except (BaseError, OSError) as error:
            raise RefusedError(_unavailable(error)) from error
        expected = {object_name(prefix, number): length for number, length in enumerate(part_sizes(size))}
        if others := len(sizes.keys() - expected.keys()):  # they would be kept with the file, and counted by no quota
            message = f"the object store has {others} parts that a file of {size} bytes does not have"
            raise RefusedError(errors.invalid(f"{message}: begin a new upload"))
        kept = {name: length for name, length in sizes.items() if name in expected}
        if kept != expected:
            message = (
                f"the object store has {len(kept)} of {len(expected)} parts, with {sum(kept.values())} of {size} bytes"
            )
            raise RefusedError(errors.invalid(f"{message}: upload the missing parts"))

    async def read(self, prefix: str, size: int, start: int) -> AsyncIterator[bytes]:
        """Yield the bytes from `start` on, for a reader without access to the store. Raises RefusedError."""
        for number in range(start // PART, len(part_sizes(size))):
            skipped = max(0, start - number * PART)
            try:
                response = await obstore.get_async(self._store, object_name(prefix, number))
                async for data in response.stream(min_chunk_size=_PIECE):
                    piece = bytes(data)[skipped:]
                    skipped = max(0, skipped - len(data))
                    if piece:
                        yield piece
            except (BaseError, OSError) as error:
                raise RefusedError(_unavailable(error)) from error


def new_prefix(namespace: NamespaceId, taskrun: str, file: str, upload: str) -> str:
    """Return the prefix of an upload: below that of its TaskRun, so it can never be that of another."""
    return f"files/{namespace.uid or namespace.name}/{taskrun}/{file}/{upload}/"


def new_upload() -> str:
    """Return the id of a new upload."""
    return uuid.uuid4().hex


def object_name(prefix: str, number: int) -> str:
    """Return the name of a part."""
    return f"{prefix}{number:06}"


def part_sizes(size: int) -> list[int]:
    """Return the sizes of the parts of a file. An empty file has none."""
    full, rest = divmod(size, PART)
    return [PART] * full + ([rest] if rest else [])


def _unavailable(error: Exception) -> errors.ErrorResponse:
    message = f"{type(error).__name__}: {error}".partition("\n")[0][:300]
    return errors.unavailable("ObjectStoreUnavailable", f"the object store does not answer: {message}")
