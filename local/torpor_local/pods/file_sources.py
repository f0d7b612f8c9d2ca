"""Files from outside of the run on this machine: web servers, object stores, and repositories, by `git` of the machine.

What `torpor-tool` does in a pod (ADR 0065). The machine of the user may reach what it can, so there are no rules for
addresses. A local run has no Secrets: a variable of the user has the value of each key. All functions block.
"""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from torpor_wire import constants

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_PIECE = 256 * 1024
_HTTP_SECONDS = 60.0
_GIT_SECONDS = 7200.0
_REGION = "us-east-1"
_BYTES_MAX = 10 << 30
"""Bytes of an input, as in a pod."""

Object = Mapping[str, Any]


class SourceError(Exception):
    """A source cannot be fetched. The message is for the user."""


class SourceLimit:
    """The bytes that an input may still have."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._left = _BYTES_MAX

    def take(self, size: int) -> None:
        """Count bytes before they are written. Raises SourceError at the first that are too many."""
        self._left -= size
        if self._left < 0:
            raise SourceError(f"{self._url} has more than {_BYTES_MAX:,} bytes")


def variable_of(secret: str, key: str) -> str:
    """Return the variable of the user that has the value of a key of a Secret, such as S3_KEYS_ID."""
    return re.sub(r"[^A-Z0-9]", "_", f"{secret}_{key}".upper())


def secrets_of(container: Object, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the values for the variables of an init container that are from Secrets. Raises SourceError."""
    values: dict[str, str] = {}
    for variable in container.get("env") or ():
        if variable["name"].startswith(constants.ENV_FILE_KEY):
            reference = variable["valueFrom"]["secretKeyRef"]
            name = variable_of(reference["name"], reference["key"])
            if name not in environ:
                raise SourceError(
                    f"a local run has no Secrets: set the variable {name} to the key {reference['key']} of Secret "
                    f"{reference['name']}"
                )
            values[variable["name"]] = environ[name].strip()
    return values


def write(entry: Object, target: Path, secrets: Mapping[str, str]) -> bool:
    """Write an input that is from outside of the run. Return whether it is one. Raises SourceError and OSError."""
    if (web := entry.get("http")) is not None:
        _download(web, target)
    elif (stored := entry.get("object")) is not None:
        _fetch_object(stored, target, secrets)
    elif (repository := entry.get("git")) is not None:
        _fetch_repository(repository, target, secrets)
    else:
        return False
    return True


def _download(source: Object, target: Path) -> None:
    if not source["url"].startswith(("http://", "https://")):
        raise SourceError(f"{source['url']!r} does not begin with http:// or https://")
    digest = hashlib.sha256()
    with urllib.request.urlopen(source["url"], timeout=_HTTP_SECONDS) as response, target.open("wb") as file:  # noqa: S310
        limit = SourceLimit(source["url"])
        while piece := response.read(_PIECE):
            limit.take(len(piece))
            digest.update(piece)
            file.write(piece)
    _check_digest(source, digest.hexdigest())


def _check_digest(source: Object, digest: str) -> None:
    if source.get("sha256") not in {None, digest}:
        raise SourceError(f"the content of {source['url']} has the SHA-256 {digest}")


def _fetch_object(source: Object, target: Path, secrets: Mapping[str, str]) -> None:
    import obstore  # noqa: PLC0415 - it takes a while to import
    from obstore.exceptions import BaseError  # noqa: PLC0415

    scheme, _, rest = source["url"].partition("://")
    bucket, _, key = rest.partition("/")
    limit = SourceLimit(source["url"])
    try:
        store = _open(scheme, bucket, source, secrets)
        if key and not key.endswith("/"):
            _check_digest(source, _copy(store, key, target, limit))
            return
        found = [entry["path"] for page in obstore.list(store, key) for entry in page]
        for path in found:
            _copy(store, path, _below(target, path.removeprefix(key)), limit)
    except BaseError as error:
        raise SourceError(f"cannot fetch {source['url']}: {str(error).partition('?')[0]}") from error
    if not found:
        raise SourceError(f"there is no object at {source['url']}")


def _below(folder: Path, name: str) -> Path:
    if not name or ".." in PurePosixPath(name).parts or PurePosixPath(name).is_absolute():
        raise SourceError(f"the object {name!r} cannot be a file in the folder of its input")
    return folder / name


def _copy(store: "ObjectStore", key: str, target: Path, limit: SourceLimit) -> str:
    """Write an object and return its SHA-256."""
    import obstore  # noqa: PLC0415

    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with target.open("wb") as file:
        for piece in obstore.get(store, key).stream(min_chunk_size=_PIECE):
            limit.take(len(piece))
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()


def _open(scheme: str, bucket: str, source: Object, secrets: Mapping[str, str]) -> "ObjectStore":
    from obstore.store import AzureStore, GCSStore, S3Store  # noqa: PLC0415

    given = {name: secrets[value] for name, value in source.items() if value in secrets}
    endpoint = source.get("endpoint")
    options: Any = {"allow_http": str(endpoint or "").startswith("http://")}
    fields: dict[str, Any] = {} if given else {"skip_signature": True}
    if scheme == "s3":
        names = {
            "accessKeyId": "access_key_id",
            "secretAccessKey": "secret_access_key",
            "sessionToken": "session_token",
        }
        fields |= {names[name]: value for name, value in given.items()} | {"region": source.get("region", _REGION)}
        fields |= {"endpoint": endpoint} if endpoint else {}
        return S3Store(bucket, client_options=options, **fields)
    if scheme == "gs":
        fields |= {"service_account_key": given["serviceAccountKey"]} if given else {}
        fields |= {"base_url": endpoint} if endpoint else {}
        return GCSStore(bucket, client_options=options, **fields)
    names = {"accountKey": "account_key", "sasToken": "sas_key"}
    fields |= {names[name]: value for name, value in given.items()} | {"account_name": source.get("accountName", "")}
    fields |= {"endpoint": endpoint} if endpoint else {}
    return AzureStore(bucket, client_options=options, **fields)


def _fetch_repository(source: Object, target: Path, secrets: Mapping[str, str]) -> None:
    git = shutil.which("git")
    if git is None:
        raise SourceError("a local run fetches a repository with git, which is not installed")
    with tempfile.TemporaryDirectory() as folder:
        variables = os.environ | _git_variables(source, secrets)
        _git(git, variables, "init", "-q", folder)
        words = ("fetch", "-q", "--depth=1", "--", source["url"], source.get("ref") or "HEAD")
        _git(git, variables, "-C", folder, *words)
        _git(git, variables, "-C", folder, "checkout", "-q", "FETCH_HEAD")
        shutil.rmtree(Path(folder, ".git"))
        _take(Path(folder).resolve(), source, target)


def _take(folder: Path, source: Object, target: Path) -> None:
    inside = str(source.get("path") or "").strip("/")
    found = (folder / inside).resolve()
    if not found.is_relative_to(folder) or not found.exists():
        raise SourceError(f"the repository has no {inside}")
    if found.is_dir():
        shutil.copytree(found, target, symlinks=True)
    else:
        shutil.copyfile(found, target)


def _git_variables(source: Object, secrets: Mapping[str, str]) -> dict[str, str]:
    """Return variables for git: no questions, and a token that is not among its arguments."""
    variables = {"GIT_TERMINAL_PROMPT": "0"}
    if "token" not in source:
        return variables
    pair = f"{source.get('username') or 'git'}:{secrets[source['token']]}"
    header = f"Authorization: Basic {base64.b64encode(pair.encode()).decode()}"
    settings = (("http.extraHeader", header), ("http.followRedirects", "false"))
    for number, (key, value) in enumerate(settings):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables | {"GIT_CONFIG_COUNT": str(len(settings))}


def _git(git: str, variables: Mapping[str, str], *words: str) -> None:
    argv = [git, *words]
    done = subprocess.run(argv, env=variables, capture_output=True, text=True, timeout=_GIT_SECONDS, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise SourceError(f"git: {said[-1][:300]}")
