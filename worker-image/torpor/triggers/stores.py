"""Object stores: one client for all who look into one bucket with the same credentials.

What an author does not give is not looked for beside the process: without credentials a request is not signed, unless
the triggerer lends its own identity, which is then never shown to a server that the author names.
"""

import re
import sys
from collections.abc import AsyncIterator, Collection, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from torpor.triggers import paths
from torpor.triggers.services import Services

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ObjectStore

SCHEMES = ("s3", "gs", "az", "file")
EXAMPLES = "s3://bucket/key, gs://bucket/key, az://container/path or file:///data/key"
REGION = "us-east-1"
CONNECT_SECONDS, ANSWER_SECONDS = "5s", "15s"
LISTED = 100
_URL_MAX = 2048
_CHUNK = 1000
_CHEAPER = 10
_AT_ONCE = 8
_STATUS = re.compile(r"status code: ([0-9]{3}[ \w]*)")
_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
_VARYING = re.compile(r"\?\S*| in [0-9.]+(?:ns|µs|ms|s)\b")
"""What an error says that may hold a signature, or is another each time."""


class Place(NamedTuple):
    """An object, or all objects of a folder where the key ends with a slash or is empty."""

    scheme: str
    bucket: str
    key: str

    @property
    def is_folder(self) -> bool:
        """Whether it is many."""
        return self.key.endswith("/") or not self.key

    @property
    def folder(self) -> str:
        """What it is in, or itself where it is one, with the slash."""
        return self.key[: self.key.rfind("/") + 1]

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.key}"


class Found(NamedTuple):
    """An object: size in bytes, `modified` in seconds since the epoch."""

    path: str
    size: int
    modified: float
    e_tag: str | None


def parse(url: object) -> Place:
    """The place that a URL names; a key is taken as it is written. Raises TypeError, ValueError."""
    if not isinstance(url, str):
        raise TypeError(f"url takes text, not {type(url).__name__}")
    scheme, _, rest = url.partition("://")
    bucket, _, key = rest.partition("/")
    if scheme not in SCHEMES or bool(bucket) == (scheme == "file") or len(url) > _URL_MAX or not url.isprintable():
        raise ValueError(f"url {url[:100]!r} is no address such as {EXAMPLES}")
    if "@" in bucket or "?" in bucket or "//" in key or {".", ".."} & set(key.split("/")):
        raise ValueError(f"url {url[:100]!r} holds more than a bucket and a key")
    return Place(scheme, bucket, key)


def load() -> None:
    """Import what it takes."""
    import_module("obstore.store")


def is_loaded() -> bool:
    """Whether that has been done."""
    return "obstore.store" in sys.modules


def connect(place: Place, options: Mapping[str, Any], services: Services) -> "ObjectStore":
    """A client that connects when it is first asked. Raises ValueError for options that the store does not take."""
    from obstore import exceptions
    from obstore.store import LocalStore

    try:
        if place.scheme == "file":
            return LocalStore(prefix=paths.folder_of(f"/{place.key}", services.folders))
        make = {"s3": _s3, "gs": _gs, "az": _az}[place.scheme]
        return make(place.bucket, options, not services.lends_identity)
    except exceptions.BaseError as error:
        raise ValueError(f"no store can be made of url and options: {_words(error)}") from error


async def close(store: "ObjectStore") -> None:
    """Nothing is left open."""


async def head(store: "ObjectStore", path: str) -> Found | None:
    """An object, None where there is none.

    Raises OSError where there is no answer now, PermissionError and ValueError where there will be none.
    """
    import obstore

    try:
        return _found(await obstore.head_async(store, path))
    except (FileNotFoundError, obstore.exceptions.NotFoundError):
        return None
    except obstore.exceptions.BaseError as error:
        raise _meant(error) from error


async def listed(store: "ObjectStore", folder: str, count: int) -> list[Found]:
    """The objects of a folder, by path; so many and some more where there are. Raises as `head` does."""
    found: list[Found] = []
    async for page in _pages(store, folder):
        found += page
        if len(found) >= max(count, LISTED):
            break
    return sorted(found)


async def heads(store: "ObjectStore", folder: str, paths: Collection[str]) -> Mapping[str, Found | Exception | None]:
    """Objects of one folder, or None where there is none, or the error of one that may not be looked at.

    Those that a listing does not show need not be asked for; it is made where it costs a tenth of that, at most. Raises
    OSError where there is no answer now.
    """
    import asyncio

    absent = await _unlisted(store, folder, paths, pages=len(paths) // _CHEAPER)
    found: dict[str, Found | Exception | None] = dict.fromkeys(absent)
    left = [path for path in paths if path not in absent]
    while left:
        now, left = left[:_AT_ONCE], left[_AT_ONCE:]
        found.update(zip(now, await asyncio.gather(*(_looked_at(store, path) for path in now)), strict=True))
    return found


async def _looked_at(store: "ObjectStore", path: str) -> Found | Exception | None:
    try:
        return await head(store, path)
    except (PermissionError, ValueError) as error:
        return error


async def _unlisted(store: "ObjectStore", folder: str, paths: Collection[str], *, pages: int) -> set[str]:
    """Which of the objects are not in the folder; none where so many pages do not tell."""
    left = set(paths)
    if pages == 0:
        return set()
    try:
        async for page in _pages(store, folder):
            if pages == 0:
                return set()
            left.difference_update(one.path for one in page)
            pages -= 1
    except PermissionError:  # objects may be open where their folder is not
        return set()
    return left


async def _pages(store: "ObjectStore", folder: str) -> "AsyncIterator[list[Found]]":
    """The objects of a folder, as many at a time as one request gives."""
    import obstore

    try:
        async for chunk in obstore.list(store, prefix=folder.rstrip("/") or None, chunk_size=_CHUNK):
            yield [_found(one) for one in chunk]
    except (FileNotFoundError, obstore.exceptions.NotFoundError):
        return
    except obstore.exceptions.BaseError as error:
        raise _meant(error) from error


def _s3(bucket: str, options: Mapping[str, Any], alone: bool) -> "ObjectStore":
    from obstore.store import S3Store

    given: dict[str, Any] = {"region": options.get("region", REGION)}
    if "endpoint" in options:
        given["endpoint"] = options["endpoint"]
    if "virtual_hosted" in options:
        given["virtual_hosted_style_request"] = options["virtual_hosted"]
    if "secret_access_key" in options:
        # A function, since parts that are not given would be taken from the environment.
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
        return S3Store(bucket, **given, **_patience(plain=options["endpoint"].startswith("http://")))
    return S3Store(bucket, **given, **_patience(plain=not alone))


def _gs(bucket: str, options: Mapping[str, Any], alone: bool) -> "ObjectStore":
    from obstore.store import GCSStore

    given: dict[str, Any] = {}
    if "service_account_key" in options:
        given["service_account_key"] = str(options["service_account_key"])
    elif alone or options.get("anonymous"):
        given["skip_signature"] = True
    return GCSStore(bucket, **given, **_patience())


def _az(container: str, options: Mapping[str, Any], alone: bool) -> "ObjectStore":
    from obstore.store import AzureStore

    given: dict[str, Any] = {"account_name": options["account_name"]}
    if "account_key" in options:
        given["account_key"] = str(options["account_key"])
    elif "sas_token" in options:
        given["sas_key"] = str(options["sas_token"])
    elif alone or options.get("anonymous"):
        given["skip_signature"] = True
    return AzureStore(container, **given, **_patience())


def _patience(*, plain: bool = False) -> dict[str, Any]:
    """A wait looks again anyway, so a request is tried once. `plain`: without TLS, where the address says so."""
    limits = {"connect_timeout": CONNECT_SECONDS, "timeout": ANSWER_SECONDS, "allow_http": plain}
    return {"client_options": limits, "retry_config": {"max_retries": 0}}


def _found(meta: "ObjectMeta") -> Found:
    return Found(meta["path"], meta["size"], meta["last_modified"].timestamp(), meta["e_tag"])


def _meant(error: Exception) -> Exception:
    """The client's error as one of ours: what passes is an OSError. A listing's has only its status to go by."""
    from obstore import exceptions

    words = _words(error)
    match error:
        case exceptions.PermissionDeniedError() | exceptions.UnauthenticatedError():
            return PermissionError(words)
        case exceptions.GenericError() if words.startswith(("401", "403")):
            return PermissionError(words)
        case exceptions.GenericError() | exceptions.JoinError():
            return ConnectionError(words)
        case _:
            return ValueError(words)


def _words(error: Exception) -> str:
    """Status and code where a server answered, else what went wrong; no address with a signature, no document."""
    said = str(error).partition("\n\nDebug source")[0]
    status, code = _STATUS.search(said), _CODE.search(said)
    if status is not None:
        return f"{status[1].strip()} ({code[1]})" if code else status[1].strip()
    return _VARYING.sub("", said.partition("\n")[0])
