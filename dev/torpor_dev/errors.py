"""The errors of this package, and their exit codes.

They have one base, so that the command line reports all of them in one place.
"""


class DevError(Exception):
    """A step failed. The message is for people, and names the remedy if it is known."""

    exit_code = 1


class CommandError(DevError):
    """A command failed or ran out of time; the message ends with its last lines."""


class NothingWorksError(DevError):
    """This machine cannot have a cluster. The message names what would change that."""

    exit_code = 2
