"""JSON text of a value within a size limit. Pure."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torpor_wire import canonical
from torpor_wire.reason import Reason

from torpor.errors import RejectedError, UnreadableError
from torpor.runtime import exceptions

_ADVICE = "store it elsewhere and return its location"


def text(  # noqa: PLR0913 - the parts of the message
    value: object,
    limit: int,
    reason: Reason,
    what: str,
    advice: str = _ADVICE,
    *,
    write: Callable[[object], str] = canonical.plain,
) -> str:
    """Return JSON text of up to `limit` bytes. Raises RejectedError with the reason; `what` names the value."""
    with rejecting(reason, what):
        written = write(value)
    size = len(written.encode())
    if size > limit:
        raise RejectedError(reason, f"{what} has {size} bytes of JSON, above the limit of {limit}: {advice}")
    return written


@contextmanager
def rejecting(reason: Reason, what: str) -> Iterator[None]:
    """Raise RejectedError for a value that is not JSON, and for errors of user code while it is written."""
    try:
        yield
    except UnreadableError:  # from lazy results: another attempt may read them
        raise
    except canonical.NotJsonError as error:
        raise RejectedError(reason, f"{what} is not JSON: {error}") from error
    except Exception as error:
        raise RejectedError(reason, f"{what} cannot be written as JSON: {exceptions.describe(error)}") from error
