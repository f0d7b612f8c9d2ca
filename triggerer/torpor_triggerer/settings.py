"""What an operator of the triggerer may set: by argument, else by environment, else a default. Frozen at start."""

import argparse
import os
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from torpor_wire import constants

from torpor_triggerer.network.addresses import Addresses, own

CAPACITY = 20_000
CONCURRENCY = 64
HEALTH_PORT = 8081
EVENT_RATE = 5.0
PROGRESS_RATE = 2.0
MAX_REQUEST_TIMEOUT = 60.0
ANSWER_LIMIT = 1024**2
LONGEST = 100.0
"""Seconds of one request: a poll as a whole is given up after 120."""
LEAST_ANSWER = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One replica. Times are in seconds; `namespace` is where the Leases are."""

    pool: str = constants.DEFAULT_POOL
    namespace: str = "torpor-system"
    identity: str = "triggerer"
    capacity: int = CAPACITY
    concurrency: int = CONCURRENCY
    lease_duration: int = 15
    lease_renew: float = 5.0
    stop_seconds: float = 5.0
    kill_seconds: float = 10.0
    look_seconds: float = 10.0
    health_port: int = HEALTH_PORT
    event_rate: float = EVENT_RATE
    progress_rate: float = PROGRESS_RATE
    triggers: Mapping[str, str]
    folders: tuple[str, ...] = ()
    lends_identity: bool = False
    apart: tuple[str, ...] = ()
    max_request_timeout: float = MAX_REQUEST_TIMEOUT
    answer_limit: int = ANSWER_LIMIT
    addresses: Addresses = field(default_factory=Addresses.of)
    kubeconfig: str | None = None


def parse(arguments: Sequence[str], environ: Mapping[str, str]) -> Settings:
    """The settings of this process; exits with a usage message where they cannot be understood."""
    made = parser(environ)
    given = made.parse_args(arguments)
    try:
        triggers = dict(map(entry, [*_listed(environ.get("TORPOR_TRIGGERS", "")), *given.trigger]))
        folders = tuple(map(_folder, [*_listed(environ.get("TORPOR_FOLDERS", "")), *given.folder]))
        addresses = Addresses.of(
            allow=_all(environ.get("TORPOR_ALLOW_NETWORKS", ""), *given.allow_networks),
            deny=_all(environ.get("TORPOR_DENY_NETWORKS", ""), *given.deny_networks),
            own=own(environ),
        )
    except ValueError as error:
        made.error(str(error))
    return Settings(
        pool=given.pool,
        namespace=given.namespace,
        identity=_label(given.identity),
        capacity=given.capacity,
        lease_duration=given.lease_duration,
        lease_renew=given.lease_duration / 3,
        health_port=given.health_port,
        event_rate=given.event_rate,
        progress_rate=given.progress_rate,
        triggers=triggers,
        folders=folders,
        lends_identity=given.lend_identity,
        apart=tuple(given.apart),
        max_request_timeout=given.max_request_timeout,
        answer_limit=given.answer_limit,
        addresses=addresses,
        kubeconfig=given.kubeconfig,
    )


def entry(text: str) -> tuple[str, str]:
    """`name=module:Class`, or a class path as Airflow writes it, as its name and where it is loaded from."""
    name, equals, target = text.strip().partition("=")
    if not equals:
        module, _, cls = name.rpartition(".")
        target = f"{module}:{cls}"
    if not name or not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", target):
        raise ValueError(f"trigger {text!r}: write name=module:Class, or package.module.Class")
    return name, target


def parser(environ: Mapping[str, str]) -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="torpor-triggerer", description="Runs the triggers of one pool.")
    add = made.add_argument
    add(
        "--pool",
        type=_pool,
        default=environ.get("TORPOR_POOL", constants.DEFAULT_POOL),
        help="the triggerPool it serves",
    )
    add("--namespace", default=environ.get("POD_NAMESPACE", "torpor-system"), help="where the replicas' Leases are")
    add("--identity", default=environ.get("POD_NAME") or _hostname(), help="unique among the replicas of a pool")
    add("--capacity", type=_count, default=environ.get("TORPOR_CAPACITY", CAPACITY), help="how many waits at a time")
    add("--lease-duration", type=_count, default=15, help="seconds until a silent replica is replaced")
    add("--health-port", type=int, default=HEALTH_PORT, help="where /healthz is; 0 for any free port")
    add("--event-rate", type=_rate, default=EVENT_RATE, help="Events on TaskRuns a second, at most")
    add("--progress-rate", type=_rate, default=PROGRESS_RATE, help="sentences on waiting TaskRuns a second, at most")
    add("--trigger", action="append", default=[], metavar="NAME=MODULE:CLASS", help="a trigger class to allow")
    add(
        "--folder",
        action="append",
        default=[],
        metavar="PATH",
        help="whose files waits may look at; {namespace} is theirs",
    )
    add("--lend-identity", action="store_true", help="let waits use what this pod is allowed elsewhere, as in a cloud")
    add("--apart", action="append", default=[], metavar="NAME", help="a trigger class to run in a thread of its own")
    add(
        "--max-request-timeout",
        type=_seconds,
        default=MAX_REQUEST_TIMEOUT,
        help="how long one request of a wait may take; a wait that asks for longer is refused",
    )
    add("--answer-limit", type=_bytes, default=ANSWER_LIMIT, help="bytes that one answer of a server may have")
    add("--allow-networks", action="append", default=[], metavar="CIDR", help="networks that waits may reach")
    add("--deny-networks", action="append", default=[], metavar="CIDR", help="networks that waits may not reach")
    add("--kubeconfig", default=None, help="which cluster; else $KUBECONFIG, else the pod's own")
    return made


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 1.0 <= number <= LONGEST:
        raise argparse.ArgumentTypeError(f"{text} is not 1 to {LONGEST:g} seconds")
    return number


def _bytes(text: str) -> int:
    number = int(text)
    if number < LEAST_ANSWER:
        raise argparse.ArgumentTypeError(f"{text} is less than {LEAST_ANSWER} bytes")
    return number


def _all(*texts: str) -> list[str]:
    return [one for text in texts for one in _listed(text)]


def _pool(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no pool's name: 63 lower-case letters, digits and dashes at most"
        )
    return text


def _rate(text: str) -> float:
    number = float(text)
    if not 0.0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not 0 or more")
    return number


def _folder(text: str) -> str:
    if not PurePath(text).is_absolute() or ".." in PurePath(text).parts:
        raise ValueError(f"folder {text!r}: write an absolute path without `..`")
    return str(PurePath(text))


def _hostname() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


def _listed(text: str) -> list[str]:
    return [part for part in re.split(r"[,\s]+", text) if part]


def _label(text: str) -> str:
    """As a part of a Lease's name."""
    return re.sub(r"[^a-z0-9-]+", "-", text.lower()).strip("-") or "triggerer"
