"""`python -m tests.integration.upgrade`: from the previous release to this one and back. Prints the figures as JSON.

Ends with status 1 if something is lost or repeated.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tests.integration.archive import databases
from tests.integration.faults.environment import open_installation, open_plane
from tests.integration.upgrade import previous_release
from tests.integration.upgrade.upgrade import Upgrade


def main() -> None:
    """Upgrade, go back, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, help="file for the JSON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="torpor-upgrade-", ignore_cleanup_errors=True) as name:
        body = _measure(Path(name).resolve())
    text = json.dumps(body, indent=1) + "\n"
    sys.stdout.write(text)
    if given.into:
        given.into.write_text(text)
    sys.exit(bool(body["wrong"]))


def _measure(folder: Path) -> dict[str, object]:
    previous = previous_release.unpack(folder / "previous")
    (folder / "files").mkdir()
    with open_plane(folder / "plane", previous) as plane, databases.postgresql() as server:
        database = databases.make(server, "archive", folder)
        with open_installation(plane, folder / "files", database, release=previous, lease_seconds=60) as installation:
            upgrade = Upgrade.begin(installation, previous)
            upgrade.forward()
            upgrade.back()
            wrong = upgrade.finish()
            return {
                "from": previous_release.RECORD.read_text().split()[0],
                "seconds of the upgrade": round(upgrade.seconds["tests"]),
                "seconds of the way back": round(upgrade.seconds[previous.image]),
                "longest delay of a task in seconds": round(upgrade.flight.longest_delay(), 1),
                "reference runs": len(upgrade.flight.scenes),
                "runs of a Schedule": upgrade.flight.ticks,
                "wrong": wrong,
            }


if __name__ == "__main__":
    main()
