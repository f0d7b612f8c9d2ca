"""The failure of an object task, with the reason that its TaskRun gets. Pure."""

from torpor_wire.reason import Reason


class ObjectTaskError(Exception):
    """An object task cannot go on. The text says what a person can do."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class AccountForbiddenError(ObjectTaskError):
    """The ServiceAccount may not do it now. It may later, so the caller tries again for a while."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.OBJECT_FORBIDDEN, message)
