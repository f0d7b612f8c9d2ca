"""Remembers tokens that were good some minutes ago, by their digests. A namespace pushes out only its own. Pure."""

from dataclasses import dataclass

OF_OWNER = 512
TOTAL = 8192
SECONDS = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    owner: str
    until: float


class KnownTokens:
    """The digests of each owner, oldest first. Times are those of a monotonic clock."""

    def __init__(self, *, of_owner: int = OF_OWNER, total: int = TOTAL) -> None:
        self._of_owner = of_owner
        self._total = total
        self._tokens: dict[bytes, _Known] = {}
        self._by_owner: dict[str, dict[bytes, None]] = {}

    def contains(self, digest: bytes, now: float) -> bool:
        """Return whether the token was good lately."""
        known = self._tokens.get(digest)
        return known is not None and known.until > now

    def add(self, digest: bytes, owner: str, now: float) -> None:
        """Remember a token of an owner, such as a namespace."""
        self.remove(digest)
        self._tokens[digest] = _Known(owner=owner, until=now + SECONDS)
        self._by_owner.setdefault(owner, {})[digest] = None
        if len(self._by_owner[owner]) > self._of_owner:
            self.remove(next(iter(self._by_owner[owner])))
        if len(self._tokens) > self._total:
            largest = max(self._by_owner, key=lambda each: len(self._by_owner[each]))
            self.remove(next(iter(self._by_owner[largest])))

    def remove(self, digest: bytes) -> None:
        """Forget a token."""
        known = self._tokens.pop(digest, None)
        if known is None:
            return
        del self._by_owner[known.owner][digest]
        if not self._by_owner[known.owner]:
            del self._by_owner[known.owner]
