"""What a person is told when a step fails, and the exit code that goes with it.

One base error, so that the command line has one place that turns failures into words.
"""


class DevError(Exception):
    """A step failed; the message is for a person and says what to do where that is known."""

    exit_code = 1


class CommandError(DevError):
    """A command failed or ran out of time; the message ends with its last lines."""


class NothingWorksError(DevError):
    """No way to a cluster exists on this machine; the message names what would make one."""

    exit_code = 2
