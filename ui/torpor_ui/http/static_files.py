"""The bundle of the page, from memory. A path that is neither a file nor an endpoint is a view of the page."""

import gzip
import hashlib
import html
import mimetypes
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from torpor_ui import errors

FOLDER = Path(__file__).resolve().parent.parent / "static"
_FOR_EVER = "public, max-age=31536000, immutable"
"""Of files whose names have a hash of their content: the build writes them to `assets/`."""
_REVALIDATED = "no-cache"
_BASE = '<base href="/">'
_COMPRESSED = frozenset({".html", ".js", ".css", ".svg", ".json", ".webmanifest", ".map"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticFile:
    """A file of the bundle, also compressed if that is worth it."""

    content: bytes
    compressed: bytes | None
    type: str
    etag: str


class StaticFiles:
    """The files of a folder. `base` is the path before all paths, without a slash at its end."""

    def __init__(self, base: str, folder: Path = FOLDER) -> None:
        self._files = {
            path.relative_to(folder).as_posix(): _load(path) for path in sorted(folder.rglob("*")) if path.is_file()
        }
        page = (folder / "index.html").read_text(encoding="utf-8")
        content = page.replace(_BASE, f'<base href="{html.escape(base)}/">').encode()
        self._page = _file(content, Path("index.html"))

    def routes(self) -> list[web.RouteDef]:
        """Return the routes, which come after all others."""
        return [web.get("/{path:.*}", self._serve)]

    async def _serve(self, request: web.Request) -> web.Response:
        path = request.match_info["path"]
        if path.startswith("api/"):
            raise errors.not_found(f"there is no endpoint {path[:100]}")
        found = self._files.get(path) if path != "index.html" else None
        if found is None and "." in path.rpartition("/")[2] and path.startswith("assets/"):
            raise errors.not_found(f"there is no file {path[:100]}", "Reload: the page may be older than its server.")
        caching = _FOR_EVER if found is not None and path.startswith("assets/") else _REVALIDATED
        return _response(request, found or self._page, caching)


def _response(request: web.Request, file: StaticFile, caching: str) -> web.Response:
    headers = {"ETag": file.etag, "Cache-Control": caching, "Vary": "Accept-Encoding"}
    if request.headers.get("If-None-Match") == file.etag:
        return web.Response(status=304, headers=headers)
    body = file.content
    if file.compressed is not None and "gzip" in request.headers.get("Accept-Encoding", ""):
        body, headers["Content-Encoding"] = file.compressed, "gzip"
    return web.Response(body=body, headers=headers | {"Content-Type": file.type})


def _load(path: Path) -> StaticFile:
    return _file(path.read_bytes(), path)


def _file(content: bytes, path: Path) -> StaticFile:
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    if path.suffix == ".js":
        kind = "text/javascript"  # a machine's registry of types may say otherwise, and nosniff makes that an error
    text = kind.startswith("text/") or kind in {"application/json", "image/svg+xml"}
    return StaticFile(
        content=content,
        compressed=gzip.compress(content, mtime=0) if path.suffix in _COMPRESSED else None,
        type=f"{kind}; charset=utf-8" if text else kind,
        etag=f'"{hashlib.sha256(content).hexdigest()[:20]}"',
    )
