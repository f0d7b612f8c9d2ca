"""The exit codes of `torpor`. Scripts depend on them."""

SUCCEEDED = 0
FAILED = 1
"""The command failed."""
USAGE = 2
"""The command line is wrong."""
RUN_FAILED = 3
RUN_CANCELLED = 4
TIMED_OUT = 5
"""The time limit of the command ended; the run goes on."""
INTERRUPTED = 130
"""Ctrl-C; the run goes on."""
