"""The headers of every response, and the checks of every request before any handler. Pure.

A page of another site must not read answers (DNS rebinding), send requests that act (CSRF), or show this page in a
frame (clickjacking).
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from torpor_ui import errors

CSRF_HEADER = "X-Torpor-CSRF"
SAFE_METHODS = frozenset({"GET", "HEAD"})
_SOURCES: Mapping[str, str] = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data: blob:",
    "connect-src": "'self'",
    "manifest-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'self'",
    "frame-ancestors": "'none'",
}
CONTENT_SECURITY_POLICY = "; ".join(f"{name} {value}" for name, value in _SOURCES.items())
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Origins:
    """The origins at which the page is served, such as `http://127.0.0.1:4000`."""

    origins: frozenset[str]

    @property
    def hosts(self) -> frozenset[str]:
        """The values of the header Host that belong to these origins."""
        return frozenset(origin.partition("://")[2] for origin in self.origins)


def check_host(host: str, allowed: Origins) -> None:
    """Raise ProblemError unless the request names a host of this server: else a name was rebound to its address."""
    if host.lower() not in allowed.hosts:
        message = f"this server is not {host[:100]!r}"
        raise errors.refused("WrongHost", message, f"Open {min(allowed.origins, default='its own address')}.")


def check_site(headers: Mapping[str, str], method: str, allowed: Origins) -> None:
    """Raise ProblemError for a request that a page of another site sends.

    Browsers name the site of a request by Sec-Fetch-Site and, if it may act, by Origin. A navigation to the page is
    allowed from anywhere.
    """
    origin = headers.get("Origin")
    if origin is not None and origin not in allowed.origins:
        raise errors.refused("WrongOrigin", f"a page of {origin[:100]!r} sent this request")
    if method not in SAFE_METHODS and origin is None:
        raise errors.refused("WrongOrigin", "a request that acts needs the header Origin")
    site, mode = headers.get("Sec-Fetch-Site", "none"), headers.get("Sec-Fetch-Mode", "")
    if site not in {"same-origin", "none"} and not (method in SAFE_METHODS and mode == "navigate"):
        raise errors.refused("WrongOrigin", "a page of another site sent this request")


def check_csrf(headers: Mapping[str, str], method: str, expected: str) -> None:
    """Raise ProblemError for a request that acts without the token that only this page can read."""
    given = headers.get(CSRF_HEADER, "").encode()
    if method not in SAFE_METHODS and not hmac.compare_digest(given, expected.encode()):
        raise errors.refused("WrongCsrf", f"the header {CSRF_HEADER} is missing or not of this session", "Reload.")
