"""`python -m tests.integration.faults`: each disruption once, or with `--minutes` random ones. Prints a report as JSON.

Ends with status 1 if a run is lost, or user code is repeated.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from torpor_dev.console import say
from torpor_dev.offline import golang

from tests.integration.archive import databases
from tests.integration.faults.campaign import Campaign
from tests.integration.faults.disruptions.table import DISRUPTIONS
from tests.integration.faults.environment import open_installation, open_plane, open_surroundings
from tests.integration.faults.report import FaultReport


def main() -> None:
    """Read the options, run, and print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=0.0, help="how long random disruptions follow each other")
    parser.add_argument("--seed", default=str(int(time.time())), help="determines the disruptions")
    parser.add_argument("--only", action="append", default=[], help="a disruption; repeatable")
    parser.add_argument("--writes", type=int, default=0, help="kill after each n-th write up to this; 0: no such kills")
    parser.add_argument("--every", type=int, default=1, help="kill the operator after every n-th of these writes only")
    parser.add_argument("--into", type=Path, help="file for the JSON")
    given = parser.parse_args()
    golang.build(golang.ETCDUTL)
    with _campaign(given.seed) as campaign:
        campaign.after_round = lambda report: _write(given.seed, report, given.into)
        campaign.warm_up()
        _strike(campaign, given)
        body = campaign.count().summary()
    sys.stdout.write(_text(given.seed, campaign.report))
    sys.exit(bool(body["lost"] or body["repeated"]))


def _strike(campaign: Campaign, given: argparse.Namespace) -> None:
    if given.minutes:
        _soak(campaign, Random(given.seed), campaign.began + 60 * given.minutes)
    else:
        for name in given.only or _possible():
            campaign.disrupt(name)
    if given.writes:
        _kill_at_writes(campaign, given.writes, given.every)


def _text(seed: str, report: FaultReport) -> str:
    return json.dumps({"seed": seed, **report.summary()}, indent=1) + "\n"


def _write(seed: str, report: FaultReport, into: Path | None) -> None:
    """Write the report so far: a campaign that is ended from outside leaves it."""
    if into:
        into.write_text(_text(seed, report))


def _soak(campaign: Campaign, random: Random, end: float) -> None:
    names, number = _possible(), 0
    while time.monotonic() < end:
        random.shuffle(names)
        for name in names:
            number += 1
            campaign.disrupt(name, number=number)
            if time.monotonic() >= end:
                break


def _possible() -> list[str]:
    """The disruptions that this user can make."""
    return [name for name, disruption in DISRUPTIONS.items() if not (disruption.needs_root and os.geteuid())]


def _kill_at_writes(campaign: Campaign, most: int, every: int) -> None:
    campaign.installation.keeps_journals = False
    for kind, step in (("operator", every), ("triggerer", 1)):
        last = campaign.kill_at_each_write(kind, step=step, last=most)
        say(f"the {kind} was killed at its writes up to number {last}, every {step}")


@contextmanager
def _campaign(seed: str) -> Iterator[Campaign]:
    with tempfile.TemporaryDirectory(prefix="torpor-faults-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        (folder / "files").mkdir()
        with open_plane(folder / "plane") as plane, databases.postgresql() as server:
            database = databases.make(server, "archive", folder)
            with (
                open_surroundings(folder) as surroundings,
                open_installation(plane, folder / "files", database, surroundings=surroundings) as installation,
            ):
                campaign = Campaign(installation=installation, seed=seed)
                try:
                    yield campaign
                except BaseException:
                    say(installation.logs())
                    raise


if __name__ == "__main__":
    main()
