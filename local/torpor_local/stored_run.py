"""A stored run as the page reads it: an API server in memory with its objects, and its logs. It changes nothing."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from pathlib import Path
from urllib.parse import unquote

from torpor_kubernetes.client.errors import ApiError, from_response
from torpor_kubernetes.client.transport import JSON, Response
from torpor_kubernetes.timing import SystemClock

from torpor_local.apiserver.server import ApiServer
from torpor_local.journal import SavedRun

_SELF_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_READS = frozenset({"GET", "HEAD"})
_CHUNK = 65_536
_LOGGED_IN = Response(201, {"status": {"token": "none"}})
_ARCHIVE = "/proxy/v1/"
_NO_RUNS = Response(200, {"items": []})
_USER = "the owner of this folder"
_MISSING = Response(404, {"kind": "Status", "reason": "NotFound", "message": "a local run does not have this"})
_READ_ONLY = Response(403, {"kind": "Status", "reason": "Forbidden", "message": "a stored run cannot be changed"})


class StoredRunTransport:
    """The requests of the page, answered from the folder of a run."""

    def __init__(self, logs: Path, saved: SavedRun) -> None:
        self._logs = logs
        self._server = ApiServer(SystemClock())
        self._server.history.restore(saved.objects, saved.version)

    async def request(  # noqa: PLR0913 - the parts of an HTTP request
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
        headers: Mapping[str, str] | None = None,  # noqa: ARG002 - the interface of the page
    ) -> Response:
        """Answer a read, and refuse a write."""
        if path == _SELF_REVIEWS:
            return Response(201, {"status": {"userInfo": {"username": _USER, "groups": []}}})
        if "/serviceaccounts/" in path:
            return _LOGGED_IN  # a token for the archive, which has no runs here
        if _ARCHIVE in path:
            return _NO_RUNS if path.endswith("/runs") else _MISSING
        if method not in _READS:
            return _READ_ONLY
        return await self._server.request(method, path, query=query, body=body, content_type=content_type)

    def stream(self, path: str, *, query: Mapping[str, str]) -> AsyncGenerator[Mapping[str, object], None]:
        """Yield the events of a watch."""
        return self._server.stream(path, query=query)

    async def chunks(
        self,
        path: str,
        *,
        query: Mapping[str, str],  # noqa: ARG002 - the whole log is short enough
        seconds: float,  # noqa: ARG002 - it ends at once
        headers: Mapping[str, str] | None = None,  # noqa: ARG002 - the interface of the page
    ) -> AsyncGenerator[bytes, None]:
        """Yield the log of a pod. Raises ApiError for anything else."""
        file = log_file(self._logs, path)
        if file is None:
            raise missing()
        with file.open("rb") as log:
            while part := log.read(_CHUNK):
                yield part

    def as_caller(self, authorization: Callable[[], Awaitable[str | None]]) -> "StoredRunTransport":  # noqa: ARG002
        """Return this transport: there is one user."""
        return self


def log_file(logs: Path, path: str) -> Path | None:
    """The file with the log of the pod of a path, None if there is none. A name never leaves the folder."""
    match path.strip("/").split("/"):
        case ["api", "v1", "namespaces", _, "pods", pod, "log"]:
            file = logs / f"{unquote(pod)}.log"
            return file if file.parent == logs and file.is_file() else None
        case _:
            return None


def missing() -> ApiError:
    """The error for what a local run does not have, such as an archive."""
    return from_response(_MISSING)
