"""Which logs of a run the archive keeps: `spec.logs`. Pure."""

from enum import StrEnum


class LogMode(StrEnum):
    """The values of `spec.logs`."""

    ALL = "all"
    FAILED = "failed"
    NONE = "none"

    @classmethod
    def parse(cls, value: object) -> "LogMode":
        """Return the mode of a value from an object of any version; `all` for an unknown one."""
        return next((mode for mode in cls if mode == value), cls.ALL)

    def keeps(self, *, failed: bool) -> bool:
        """Return whether the log of a pod or wait that failed, or did not fail, is kept."""
        return self is LogMode.ALL or (self is LogMode.FAILED and failed)
