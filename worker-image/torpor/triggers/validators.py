"""How an HTTP server is asked for what has changed only: the validators of its last answer (RFC 9110, 8.8 and 13).

An answer that came right after a change is not one to be compared with: what changed once more within the same second
would look unchanged for ever. Pure.
"""

from collections.abc import Iterable, Mapping

from torpor.triggers.services import Answer

NOT_MODIFIED = 304
_OK = 200
_SETTLED = 2.0
_CONDITIONS = frozenset({"if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range", "range"})


def asked_by_hand(names: Iterable[str]) -> bool:
    """Whether whoever gave the headers has conditions of their own, which ours must not mix with."""
    return any(name.lower() in _CONDITIONS for name in names)


def of(answer: Answer) -> Mapping[str, str]:
    """The headers that ask for what differs from this answer; none where it cannot be told."""
    if answer.status != _OK or answer.truncated or not _is_settled(answer):
        return {}
    given = {"If-None-Match": answer.headers.get("etag"), "If-Modified-Since": answer.headers.get("last-modified")}
    return {name: value for name, value in given.items() if value}


def _is_settled(answer: Answer) -> bool:
    """Where a server says when it changed last: whether that was a while before it answered."""
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - a task pod never gets here

    changed = answer.headers.get("last-modified")
    if changed is None:
        return True
    try:
        answered = parsedate_to_datetime(answer.headers["date"])
        return (answered - parsedate_to_datetime(changed)).total_seconds() >= _SETTLED
    except (KeyError, ValueError, TypeError):
        return False
