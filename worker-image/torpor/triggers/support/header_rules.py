"""The headers that a deferral may set.

Connections are reused. A request that sets its own length or another host makes the server read the next request as
part of this one (request smuggling). So only the client sets framing headers, hop-by-hop headers and Host. Pure.
"""

import re
from collections.abc import Mapping

CLIENT_OWNED = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "trailers",
        "transfer-encoding",
        "upgrade",
    }
)
"""Framing, hop-by-hop headers (RFC 9110, 7.6.1) and Host, in lower case."""

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def name_problem(name: object) -> str:
    """Return why a header of this name must not be set; empty if it may."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return f"{name!r:.100} is not a valid header name"
    if name.lower() in CLIENT_OWNED:
        return f"{name} cannot be set: the HTTP client writes it; remove it"
    return ""


def check(headers: Mapping[str, object]) -> None:
    """Raise ValueError for a name that only the client sets, and for a value with a line break."""
    for name, value in headers.items():
        problem = name_problem(name)
        if problem:
            raise ValueError(f"headers: {problem}")
        if not isinstance(value, str) or _CONTROL.search(value):
            raise ValueError(f"headers: the value of {name} contains a line break or another control character")
