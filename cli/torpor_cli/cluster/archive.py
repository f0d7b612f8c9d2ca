"""Reads the archive through the service proxy of the API server (ADR 0030, ADR 0050).

The API server removes `Authorization` from what it forwards, so the reader's token travels in `Torpor-Authorization`.
It is never the token of the login, with which the archive could act as the user. It has the archive's audience and
belongs to the reader of the namespace, or to that of all namespaces.
"""

import os
import time
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from torpor_wire import constants

from torpor_cli.cluster import http
from torpor_cli.cluster.api import ApiClient, Object, parse_object
from torpor_cli.cluster.errors import ClusterError, ForbiddenError, NotFoundError, UnavailableError
from torpor_cli.cluster.resources import SERVICE_ACCOUNTS
from torpor_cli.errors import CliError

READER = "torpor-reader"
"""The ServiceAccount whose tokens read the archive in all namespaces."""
HEADER = "Torpor-Authorization"
_TOKEN_S = 600
_PAGE = 500
_LIMIT_S = 20.0


class ArchiveAwayError(CliError):
    """The archive cannot be read: not installed, down, or not allowed. A command shows what the cluster has."""


class ArchivedNotFoundError(CliError):
    """The archive has no such object."""


def system_namespace() -> str:
    """The namespace of the installation; the variable names that of a confined one."""
    return os.environ.get(constants.SYSTEM_VARIABLE) or constants.SYSTEM_NAMESPACE


class ArchiveProxy:
    """The archive as the user may read it. Every method raises ArchiveAwayError or ArchivedNotFoundError."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api
        self._tokens = _ReaderTokens(api)
        service = f"https:{constants.ARCHIVE_CONFIG}:8443"
        self._proxy = f"/api/v1/namespaces/{quote(system_namespace())}/services/{service}/proxy/v1"

    def runs(self, namespace: str | None, filters: Mapping[str, Any] | None = None) -> Iterator[Object]:
        """Return archived runs, the latest end first; all namespaces for None. Requests pages as they are consumed.

        `filters` are the parameters of the route: name, state (may be a list), labels, since, until.
        """
        place = f"/namespaces/{quote(namespace)}/runs" if namespace else "/runs"
        return self._items(namespace, place, {**(filters or {}), "limit": str(_PAGE)})

    def latest(self, namespace: str, name: str) -> Object | None:
        """Return the archived run of this name that ended last, None if there is none."""
        return next(self.runs(namespace, {"name": name}), None)

    def run(self, namespace: str, uid: str) -> list[Object]:
        """Return the objects of an archived run: the Workflow, its TaskRuns and its Events."""
        lines = self._lines(namespace, f"/namespaces/{quote(namespace)}/runs/{quote(uid)}")
        return [item for item in map(parse_object, lines) if item is not None]

    def workflow(self, namespace: str, uid: str) -> Object | None:
        """Return the Workflow of an archived run, which is its first line; None if the run was deleted meanwhile."""
        lines = self._lines(namespace, f"/namespaces/{quote(namespace)}/runs/{quote(uid)}")
        try:
            return next(filter(None, map(parse_object, lines)), None)
        except ArchivedNotFoundError:
            return None

    def logs(self, namespace: str, uid: str, filters: Mapping[str, str] | None = None) -> list[Object]:
        """Return the logs that the archive has of a run: id, taskrun, task, attempt, started, state, and so on.

        `filters` are the parameters of the route: task, attempt, segment, failed.
        """
        return list(self._items(namespace, f"/namespaces/{quote(namespace)}/runs/{quote(uid)}/logs", filters or {}))

    def log_lines(self, namespace: str, identifier: str | int) -> Iterator[bytes]:
        """Yield the lines of a log: a time, a space, the text."""
        return self._lines(namespace, f"/namespaces/{quote(namespace)}/logs/{quote(str(identifier))}")

    def result(self, namespace: str, taskrun_uid: str, digest: str) -> Iterator[bytes]:
        """Yield the bytes of an archived result as they arrive."""
        return self._guarded(
            self._api.http.stream(
                f"{self._proxy}/namespaces/{quote(namespace)}/results/{quote(taskrun_uid)}/{quote(digest)}",
                headers=self._headers(namespace),
            )
        )

    def file(self, namespace: str, taskrun_uid: str, name: str, digest: str) -> Iterator[bytes]:
        """Yield the bytes of a stored file of a task as they arrive."""
        path = "/".join(map(quote, (namespace, "files", taskrun_uid, name, digest)))
        return self._guarded(
            self._api.http.stream(f"{self._proxy}/namespaces/{path}", headers=self._headers(namespace))
        )

    def _items(self, namespace: str | None, path: str, query: Mapping[str, Any]) -> Iterator[Object]:
        for page in http.pages(lambda more: self._json(namespace, path, {**query, **more})):
            yield from page.get("items") or ()

    def _json(self, namespace: str | None, path: str, query: Mapping[str, Any]) -> Object:
        try:
            body: Object = self._api.http.json(
                "GET", self._proxy + path, query=query, headers=self._headers(namespace), read_timeout=_LIMIT_S
            )
        except ClusterError as error:
            raise _translated(error) from error
        return body

    def _lines(self, namespace: str, path: str) -> Iterator[bytes]:
        return self._guarded(self._api.http.lines(self._proxy + path, headers=self._headers(namespace)))

    @staticmethod
    def _guarded(content: Iterator[bytes]) -> Iterator[bytes]:
        try:
            yield from content
        except ClusterError as error:
            raise _translated(error) from error

    def _headers(self, namespace: str | None) -> Mapping[str, str]:
        return {HEADER: f"Bearer {self._tokens.token(namespace)}"}


class _ReaderTokens:
    """The tokens of one command, by namespace; None is all namespaces.

    Who may `view` a namespace may request a token of the namespace's reader. An administrator may request one of the
    reader of all namespaces.
    """

    def __init__(self, api: ApiClient) -> None:
        self._api = api
        self._tokens: dict[str | None, tuple[float, str]] = {}

    def token(self, namespace: str | None) -> str:
        """Return a token that reads the namespace in the archive. Raises ArchiveAwayError."""
        renew_at, token = self._tokens.get(namespace, (0.0, ""))
        if not token or time.monotonic() >= renew_at:
            token = self._request(namespace)
            self._tokens[namespace] = (time.monotonic() + _TOKEN_S / 2, token)
        return token

    def _request(self, namespace: str | None) -> str:
        if namespace is not None:
            try:
                return self._create(namespace, constants.ARCHIVE_READER)
            except (NotFoundError, ForbiddenError):
                pass  # an older set-up of the namespace; an administrator still reads
            except ClusterError as error:
                raise ArchiveAwayError(f"the archive cannot be read: {error}") from error
        try:
            return self._create(system_namespace(), READER)
        except NotFoundError as error:
            message = "the archive is not installed, or older than this command; see `torpor doctor`"
            raise ArchiveAwayError(message) from error
        except ForbiddenError as error:
            raise ArchiveAwayError(_not_allowed(namespace)) from error
        except ClusterError as error:
            raise ArchiveAwayError(f"the archive cannot be read: {error}") from error

    def _create(self, namespace: str, account: str) -> str:
        spec = {"audiences": [constants.ARCHIVE_AUDIENCE], "expirationSeconds": _TOKEN_S}
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        path = SERVICE_ACCOUNTS.path(namespace, account, "token")
        token: str = self._api.http.json("POST", path, body=body)["status"]["token"]
        return token


def _not_allowed(namespace: str | None) -> str:
    if namespace is None:
        return (
            "you may not read the archive in all namespaces: choose one with -n, or ask for the right to create tokens "
            f"of ServiceAccount {READER} in {system_namespace()}"
        )
    return (
        f"you may not create a token of ServiceAccount {constants.ARCHIVE_READER} in namespace {namespace}: ask for "
        "ClusterRole view there, and for manifests/namespace to be applied; see `torpor doctor`"
    )


def _translated(error: ClusterError) -> CliError:
    match error:
        case NotFoundError() if str(error).startswith("services "):  # else it is the archive that has no such object
            return ArchiveAwayError("the archive is not installed; only live runs are shown")
        case NotFoundError():
            return ArchivedNotFoundError(str(error))
        case ForbiddenError(status=HTTPStatus.UNAUTHORIZED):
            return ArchiveAwayError("the archive does not accept the token of its reader; see `torpor doctor`")
        case UnavailableError() | ForbiddenError():
            return ArchiveAwayError(f"the archive cannot be read: {error}")
        case ClusterError(status=HTTPStatus.BAD_REQUEST):
            return CliError(f"the archive rejects the request: {error}")
        case _:
            return CliError(f"the archive answered: {error}")
