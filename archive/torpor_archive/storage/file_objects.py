"""Files of tasks in an object store: the archive signs URLs, and the bytes never pass it (ADR 0064).

A file is a sequence of objects below a prefix of its own, each with PART bytes but the last. The archive chooses all
names. A URL is for one object and one method, for a few minutes. A store does not limit what a URL uploads, so its URLs
lead to names of the upload alone. The store copies parts of the right size from there, and no URL changes a file.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
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
_COPIES = 8
"""Copies at once: a store copies a part without sending it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileUpload:
    """An upload of a file: the prefixes of the objects that URLs name, and of the objects of the file."""

    id: str
    staged: str
    prefix: str

    @classmethod
    def of_file(cls, namespace: NamespaceId, taskrun: str, file: str, upload: str) -> "FileUpload":
        """Return an upload with its prefixes below those of its TaskRun, so they can never be those of another."""
        below = f"{namespace.uid or namespace.name}/{taskrun}/{file}/{upload}/"
        return cls(id=upload, staged=f"uploads/{below}", prefix=f"files/{below}")

    @property
    def of_namespace(self) -> str:
        """The prefix of all uploads of the namespace."""
        return "/".join(self.staged.split("/")[:2]) + "/"

    @property
    def body(self) -> str:
        """The id of the body that the file becomes: another TaskRun cannot name it by the id of the upload."""
        return uuid.uuid5(uuid.UUID(self.id), self.staged).hex


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

    async def settle(self, upload: FileUpload, sizes: Sequence[int], *, is_whole: bool = False) -> None:
        """Make the first parts of an upload, which have these sizes, parts of its file.

        `is_whole`: these are all parts. Raises RefusedError: 400 for parts of another size, 503.
        """
        try:
            staged, kept = await self._sizes(upload.staged), await self._sizes(upload.prefix)
            missing = {number: size for number, size in enumerate(sizes) if kept.get(number) != size}
            _check_parts(staged, missing, count=len(sizes), is_whole=is_whole)
            await self._copy(upload, sorted(missing))
            if missing:  # a part may have changed after it was listed
                kept = await self._sizes(upload.prefix)
            wrong = [number for number in missing if kept.get(number) != sizes[number]]
            await self._delete(upload.prefix, wrong)
            await self._delete(upload.staged, [number for number in staged if number < len(sizes)])
        except (BaseError, OSError) as error:
            raise RefusedError(_unavailable(error)) from error
        if wrong:
            raise RefusedError(errors.invalid(f"part {wrong[0]} changed while it was stored: begin a new upload"))

    async def _sizes(self, prefix: str) -> dict[int, int]:
        sizes: dict[int, int] = {}
        async for page in obstore.list(self._store, prefix):
            sizes.update({int(str(entry["path"]).rpartition("/")[2]): int(entry["size"]) for entry in page})
        return sizes

    async def _copy(self, upload: FileUpload, numbers: Sequence[int]) -> None:
        places = asyncio.Semaphore(_COPIES)

        async def copy(number: int) -> None:
            source, target = (object_name(prefix, number) for prefix in (upload.staged, upload.prefix))
            async with places:
                await obstore.copy_async(self._store, source, target)

        await asyncio.gather(*(copy(number) for number in numbers))

    async def _delete(self, prefix: str, numbers: Sequence[int]) -> None:
        if numbers:
            await obstore.delete_async(self._store, [object_name(prefix, number) for number in numbers])

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


def _check_parts(staged: Mapping[int, int], missing: Mapping[int, int], *, count: int, is_whole: bool) -> None:
    """Raise RefusedError (400) unless an upload has the missing parts, and no others."""
    if large := [number for number, size in staged.items() if size > PART]:
        message = f"part {large[0]} of the upload has {staged[large[0]]} bytes; a part has at most {PART}"
        raise RefusedError(errors.invalid(f"{message}: begin a new upload"))
    others = sum(number >= count for number in staged)
    if is_whole and others:
        message = f"the object store has {others} parts that a file of this size does not have"
        raise RefusedError(errors.invalid(f"{message}: begin a new upload"))
    absent = [number for number, size in missing.items() if staged.get(number) != size]
    if absent:
        message = f"the object store does not have {len(absent)} of {count} parts in their size, first part {absent[0]}"
        raise RefusedError(errors.invalid(f"{message}: upload the missing parts"))


def _unavailable(error: Exception) -> errors.ErrorResponse:
    message = f"{type(error).__name__}: {error}".partition("\n")[0][:300]
    return errors.unavailable("ObjectStoreUnavailable", f"the object store does not answer: {message}")
