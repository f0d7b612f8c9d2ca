"""The secret of this server: seals sessions into cookies, and derives CSRF tokens from session ids."""

import base64
import hashlib
import hmac
import json
import os
import zlib
from collections.abc import Mapping
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

_CONTENT_MAX = 64 * 1024


class ServerSecret:
    """Keys that are derived from secrets of any length; the first one seals, all of them open."""

    def __init__(self, *secrets: bytes) -> None:
        given = secrets or (os.urandom(32),)
        self._csrf = _derive(given[0], b"csrf")
        self._fernet = MultiFernet([Fernet(base64.urlsafe_b64encode(_derive(each, b"seal"))) for each in given])

    def csrf(self, session_id: str) -> str:
        """Return the CSRF token of a session."""
        return hmac.new(self._csrf, session_id.encode(), hashlib.sha256).hexdigest()

    def seal(self, content: Mapping[str, Any]) -> str:
        """Return the content as text that only this server can read or make."""
        return self._fernet.encrypt(zlib.compress(json.dumps(content).encode())).decode()

    def open(self, sealed: str, *, seconds: int) -> dict[str, Any] | None:
        """Return sealed content that is at most so many seconds old; None for anything else."""
        try:
            packed = self._fernet.decrypt(sealed.encode(), ttl=seconds)
            content = json.loads(zlib.decompressobj().decompress(packed, _CONTENT_MAX))
        except (InvalidToken, ValueError, zlib.error):
            return None
        return content if isinstance(content, dict) else None


def _derive(secret: bytes, purpose: bytes) -> bytes:
    return hmac.new(secret, purpose, hashlib.sha256).digest()
