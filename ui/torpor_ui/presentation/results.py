"""How the result of a task is sent: under which name and type, so that a browser never runs it. Pure."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from torpor_client.runs import stored_body
from torpor_views import json_fields

SHOWN_TYPES: Mapping[str, str] = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "txt": "text/plain; charset=utf-8",
    "log": "text/plain; charset=utf-8",
    "csv": "text/plain; charset=utf-8",
    "tsv": "text/plain; charset=utf-8",
    "md": "text/plain; charset=utf-8",
    "json": "text/plain; charset=utf-8",
    "jsonl": "text/plain; charset=utf-8",
    "yaml": "text/plain; charset=utf-8",
    "html": "text/plain; charset=utf-8",
    "svg": "text/plain; charset=utf-8",
    "xml": "text/plain; charset=utf-8",
}
"""Types of files by the end of their names. What a browser would run is text."""
_JSON = "application/json; charset=utf-8"
_BYTES = "application/octet-stream"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_NAME_MAX = 150


class ResultHeaders(NamedTuple):
    """The headers of a result."""

    content_type: str
    disposition: str

    def as_dict(self) -> dict[str, str]:
        """Return the headers. A result has no access to this page, even if a browser shows it."""
        return {
            "Content-Type": self.content_type,
            "Content-Disposition": self.disposition,
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "X-Content-Type-Options": "nosniff",
        }


def headers(stored: Mapping[str, Any], run: str, ref: str, *, show: bool) -> ResultHeaders:
    """Return the headers for a result. `show`: the page shows it, instead of the browser saving it.

    `stored` describes a result of the archive; an inline result is JSON.
    """
    if not stored_body.is_binary(stored):
        name = f"{run}-{ref.replace('/', '-')}.json"
        return ResultHeaders(_JSON, _disposition(name, show=show))
    name = json_fields.text(stored.get("name")) or f"{run}-{ref.replace('/', '-')}.bin"
    kind = SHOWN_TYPES.get(name.rpartition(".")[2].lower(), _BYTES)
    return ResultHeaders(kind if show else _BYTES, _disposition(name, show=show and kind != _BYTES))


def log_headers(run: str, ref: str) -> ResultHeaders:
    """Return the headers for the log of an instance as a file."""
    return ResultHeaders("text/plain; charset=utf-8", _disposition(f"{run}-{ref.replace('/', '-')}.log", show=False))


def file_headers(kind: str, name: str) -> ResultHeaders:
    """Return the headers for a stored file of a task, which is a download. A folder is a tar stream."""
    folder, gzip = kind.startswith("folder"), kind.endswith("+gzip")
    ending = (".tar" if folder else "") + (".gz" if gzip else "")
    return ResultHeaders(_BYTES, _disposition(name + ending, show=False))


def _disposition(name: str, *, show: bool) -> str:
    """The header Content-Disposition. A task chooses the name of its file, so no character of it has a meaning."""
    plain = _UNSAFE.sub("_", name[-_NAME_MAX:]).lstrip(".-") or "result"
    encoded = quote(name[-_NAME_MAX:].encode("utf-8", "replace"), safe="")
    return f"{'inline' if show else 'attachment'}; filename=\"{plain}\"; filename*=UTF-8''{encoded}"
