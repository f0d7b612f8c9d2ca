"""Stores whole logs in an object store: S3, Google Cloud Storage, Azure, or a folder.

Credentials come from the environment, as the store's own tools read them. A log is one object: zstd frames one after
another.
"""

import logging
from collections.abc import AsyncIterator, Iterable

import obstore
import zstandard
from obstore.exceptions import BaseError
from obstore.store import ObjectStore, from_url

from torpor_archive.storage.log_entry import LogOrigin
from torpor_archive.storage.log_text import compress

PART = 5 * 1024**2
"""Bytes that an upload buffers: the least part that S3 takes."""
_BATCH = 256 * 1024
_STEP = 256
"""Compressed bytes that are expanded at a time: a log of one repeated line is 8,000 times as long as its frames."""

log = logging.getLogger(__name__)


class ObjectsError(Exception):
    """The object store failed."""


class LogBucket:
    """One bucket, with a prefix."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    @classmethod
    def open(cls, url: str) -> "LogBucket":
        """Use `s3://bucket/prefix` or the URL of another store. Raises ValueError for an invalid one."""
        try:
            return cls(from_url(url))
        except BaseError as error:
            raise ValueError(f"cannot use the object store {url!r}: {error}") from error

    def write(self, source: LogOrigin) -> "ObjectWriter":
        """Begin an object for a log."""
        return ObjectWriter(self._store, f"{source.namespace}/{source.workflow}/{source.id}.zst")

    async def read(self, name: str) -> AsyncIterator[bytes]:
        """Yield the text of an object. Raises ObjectsError."""
        try:
            response = await obstore.get_async(self._store, name)
            decompressor = zstandard.ZstdDecompressor()
            frame = decompressor.decompressobj(read_across_frames=True)
            async for data in response.stream(min_chunk_size=_BATCH):
                compressed = bytes(data)
                for start in range(0, len(compressed), _STEP):
                    if text := frame.decompress(compressed[start : start + _STEP]):
                        yield text
        except (BaseError, OSError, zstandard.ZstdError) as error:
            raise ObjectsError(_message(error)) from error

    async def _delete_all(self, prefix: str) -> None:
        async for page in obstore.list(self._store, prefix):
            await obstore.delete_async(self._store, [str(entry["path"]) for entry in page])

    async def delete(self, names: Iterable[str]) -> None:
        """Delete objects. Raises ObjectsError."""
        for name in names:
            try:
                if name.endswith("/"):
                    await self._delete_all(name)
                else:
                    await obstore.delete_async(self._store, name)
            except FileNotFoundError:
                continue
            except (BaseError, OSError) as error:
                raise ObjectsError(_message(error)) from error


class ObjectWriter:
    """Uploads one object piece by piece, holding PART bytes at most. The object appears when it is complete."""

    def __init__(self, store: ObjectStore, name: str) -> None:
        self.name = name
        self._writer = obstore.open_writer_async(store, name, buffer_size=PART, max_concurrency=1)
        self._pending = bytearray()
        self.stored = 0
        """Compressed bytes so far."""

    async def write(self, text: bytes) -> None:
        """Add text. Raises ObjectsError."""
        self._pending += text
        if len(self._pending) >= _BATCH:
            await self._flush()

    async def finish(self) -> None:
        """Complete the object. Raises ObjectsError."""
        await self._flush()
        try:
            await self._writer.close()
        except (BaseError, OSError) as error:
            raise ObjectsError(_message(error)) from error

    async def abort(self) -> None:
        """Delete the parts that were uploaded, which a store bills. Raises ObjectsError."""
        cause = ObjectsError("the upload is aborted")
        try:
            await self._writer.__aexit__(type(cause), cause, None)
        except (BaseError, OSError) as error:
            raise ObjectsError(_message(error)) from error

    async def _flush(self) -> None:
        frame = compress(bytes(self._pending))
        self._pending.clear()
        self.stored += len(frame)
        try:
            await self._writer.write(frame)
        except (BaseError, OSError) as error:
            raise ObjectsError(_message(error)) from error


def _message(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0][:300]
