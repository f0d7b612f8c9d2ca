"""`python -m tests.e2e.upgrade`: from the previous release to this one on a cluster. Prints the figures as JSON.

First by the manifest. Then Helm takes an installation of the previous release over, upgrades it, removes it and
installs it again. Ends with status 1 if something is lost or repeated.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torpor_demo.cluster import ROOT

from tests.e2e.support.installation import TEAM, ClusterInstallation, empty
from tests.e2e.upgrade.runs_in_flight import RunsInFlight
from tests.integration.upgrade import previous_release

_THIS, _NEXT = "1.0", "1.1"
_VALUES = ("--set", f"namespaces={{{TEAM}}}", "--wait", "--timeout", "9m")


def main() -> None:
    """Upgrade in both ways, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, help="file for the JSON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="torpor-upgrade-") as name, empty(Path(name)) as site:
        body = _measure(site, Path(name))
    text = json.dumps(body, indent=1) + "\n"
    sys.stdout.write(text)
    if given.into:
        given.into.write_text(text)
    sys.exit(bool(body["wrong"]))


def _measure(site: ClusterInstallation, folder: Path) -> dict[str, Any]:
    version = previous_release.RECORD.read_text().split()[0]
    site.release_source(version, previous_release.unpack(folder / "previous").root)
    charts = [site.chart(each) for each in (_THIS, _NEXT)]
    ways: dict[str, tuple[Callable[[], None], ...]] = {
        "manifest": (lambda: _apply(site),),
        "helm": (
            lambda: site.helm("install", "torpor", charts[0], "--take-ownership", "--force-conflicts", *_VALUES),
            lambda: site.helm("upgrade", "torpor", charts[1], *_VALUES),
            lambda: _reinstall(site, charts[1]),
        ),
    }
    return {"from": version, **_upgraded(site, version, ways)}


def _upgraded(
    site: ClusterInstallation, version: str, ways: dict[str, tuple[Callable[[], None], ...]]
) -> dict[str, Any]:
    """Take each way from the previous release, on a cluster without Torpor; the figures of each."""
    body: dict[str, Any] = {"wrong": []}
    for way, steps in ways.items():
        site.install(version)
        flight = RunsInFlight(site=site, name=way)
        flight.start(version)
        body[f"seconds of each step by {way}"] = [_seconds(step) for step in steps]
        body["wrong"] += [f"{way}: {each}" for each in (*_old_pods(site), *flight.finish())]
        body[f"ticks by {way}"] = flight.ticks
        body[f"longest delay of a tick in seconds by {way}"] = round(flight.longest_delay(), 1)
        site.uninstall()
    return body


def _apply(site: ClusterInstallation) -> None:
    """Step 5 of docs/operations/upgrade.md."""
    site.kubectl.run("apply", "--server-side", "-k", ROOT / "manifests/base/policies")
    site.install(_THIS)


def _reinstall(site: ClusterInstallation, folder: Path) -> None:
    """Remove the release, which keeps all runs, and install it again."""
    before = _runs(site)
    site.helm("uninstall", "torpor", "--wait", "--timeout", "9m")
    lost = before - _runs(site)
    assert not lost, lost
    site.helm("install", "torpor", folder, *_VALUES)


def _runs(site: ClusterInstallation) -> set[str]:
    return {run["metadata"]["uid"] for run in site.kubectl.read("workflows,taskruns", "-n", TEAM)["items"]}


def _old_pods(site: ClusterInstallation) -> list[str]:
    old = site.versions() - {_THIS, _NEXT}
    return [f"pods of version {each} are left" for each in sorted(old)]


def _seconds(step: Callable[[], None]) -> int:
    start = time.monotonic()
    step()
    return round(time.monotonic() - start)


if __name__ == "__main__":
    main()
