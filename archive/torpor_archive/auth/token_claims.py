"""Reads a token without trusting it, to refuse at once what the API server would refuse. Pure.

Only the API server can say that a token is good. But a token that is malformed, expired, or for another audience is
certainly not, and needs no review. The issuer is not compared: a cluster may have several while it changes them.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

TOKEN_MAX = 8192
LEEWAY_SECONDS = 120.0
"""The clocks of the archive and of the API server may differ. Kubernetes allows a minute."""
_PARTS = 3


def problem(token: str, audience: str, now: float) -> str | None:
    """Return why the API server would refuse the token for the audience, or None if only it can tell."""
    parts = token.split(".")
    if len(token) > TOKEN_MAX or not token.isascii() or len(parts) != _PARTS or not all(parts):
        return "it is not a JSON Web Token"
    claims = _decode(parts[1])
    if claims is None or _decode(parts[0]) is None:
        return "it is not a JSON Web Token"
    audiences, expires = claims.get("aud"), claims.get("exp")
    if audience != audiences and not (isinstance(audiences, list) and audience in audiences):
        return f"it is not for audience {audience}"
    if not isinstance(expires, int | float) or expires < now - LEEWAY_SECONDS:
        return "it has expired"
    return None


def _decode(part: str) -> Mapping[str, Any] | None:
    try:
        decoded = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, RecursionError, binascii.Error):
        return None
    return decoded if isinstance(decoded, dict) else None
