"""Runs other programs with a time limit, and reports the last lines of those that fail.

The only module that waits for a child process. Must not start a process that outlives the call: see `daemon`.
"""

import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from torpor_dev.console import CommandError

_TAIL = 15


def run(
    *args: str | Path,
    limit: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: str | bytes | None = None,
) -> str:
    """Run a program to its end and return its standard output; `limit` is in seconds.

    Raises CommandError if it cannot be started, exits non-zero, or takes too long.
    """
    given = stdin.encode() if isinstance(stdin, str) else stdin
    feed = {"stdin": subprocess.DEVNULL} if given is None else {}
    try:
        done = subprocess.run(  # type: ignore[call-overload]
            args, capture_output=True, check=False, timeout=limit, env=env, cwd=cwd, input=given, **feed
        )
    except OSError as error:
        raise CommandError(f"cannot run {args[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise CommandError(_failure(args, f"did not end in {limit:.0f} s", error.stdout, error.stderr)) from error
    if done.returncode != 0:
        raise CommandError(_failure(args, f"exited with {done.returncode}", done.stdout, done.stderr))
    output: str = done.stdout.decode(errors="replace")
    return output


def succeeds(*args: str | Path, limit: float) -> bool:
    """Whether a program can be run and exits with 0 within `limit` seconds."""
    try:
        run(*args, limit=limit)
    except CommandError:
        return False
    return True


def pipe(producer: Sequence[str | Path], consumer: Sequence[str | Path], *, limit: float) -> str:
    """Pipe the output of one program to another without holding it in memory; return the output of the second."""
    with subprocess.Popen(producer, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as source:
        try:
            done = subprocess.run(consumer, stdin=source.stdout, capture_output=True, check=False, timeout=limit)
        except subprocess.TimeoutExpired as error:
            source.kill()
            raise CommandError(_failure(consumer, f"did not end in {limit:.0f} s", None, error.stderr)) from error
    # A consumer that ends early kills its producer; the consumer's error is the one to report.
    if source.returncode not in (0, -signal.SIGPIPE):
        raise CommandError(_failure(producer, f"exited with {source.returncode}", None, None))
    if done.returncode != 0:
        raise CommandError(_failure(consumer, f"exited with {done.returncode}", done.stdout, done.stderr))
    return done.stdout.decode(errors="replace")


def _failure(args: Sequence[str | Path], what: str, stdout: bytes | None, stderr: bytes | None) -> str:
    output = (stderr or b"").decode(errors="replace").strip() or (stdout or b"").decode(errors="replace").strip()
    tail = "\n".join(f"  {line}" for line in output.splitlines()[-_TAIL:])
    shown = " ".join(str(arg) for arg in args)
    return f"{shown[:200]}: {what}" + (f"; its last lines:\n{tail}" if tail else "")
